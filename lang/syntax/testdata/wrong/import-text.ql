IMPORT "/lib/tax.ql"
