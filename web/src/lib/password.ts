/** What a password must have at least, as the service checks it. */
export const passwordHelp = 'At least 10 characters; a sentence is easy to keep.';
