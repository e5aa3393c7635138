LIST "/a" AS ?files
