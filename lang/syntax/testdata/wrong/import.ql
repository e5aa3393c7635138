import "/lib/tax.ql"
