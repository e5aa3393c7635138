import svelte from 'eslint-plugin-svelte';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

// What the pages' Content-Security-Policy would refuse is refused here first: styles in attributes,
// raw HTML, handlers that are text.
export default ts.config(
  { ignores: ['node_modules', 'src/lib/schema.d.ts'] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } },
  },
  {
    rules: {
      'svelte/no-at-html-tags': 'error',
      'svelte/no-useless-mustaches': 'off', // a space at the end of a line is written so
      'svelte/no-navigation-without-resolve': 'off', // the router is our own
      'svelte/prefer-svelte-reactivity': 'off',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'text is made an element by Svelte alone' },
        { property: 'outerHTML', message: 'text is made an element by Svelte alone' },
        { property: 'insertAdjacentHTML', message: 'text is made an element by Svelte alone' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'SvelteAttribute[key.name="style"]', message: 'a style is a class, or the directive style:name' },
        { selector: 'SvelteAttribute[key.name=/^on[a-z]+$/] > SvelteLiteral', message: 'a handler is a function, not a text' },
      ],
    },
  },
);
