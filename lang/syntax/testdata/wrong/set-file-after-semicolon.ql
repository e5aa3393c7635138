SELECT 1; SET FILE "/a.csv"
