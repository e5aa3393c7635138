-- Whether more than one account has a site is asked with requests for /~username/, and looks at no
-- other file.
CREATE INDEX files_sites ON files (account) WHERE key = '/SITE';
