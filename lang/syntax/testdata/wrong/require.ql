require('tax')
