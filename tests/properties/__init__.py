"""What must hold for every list, whatever the rule: properties, searched by hypothesis."""
