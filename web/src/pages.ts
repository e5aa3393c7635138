// The pages, in the order of the rail. A page is here once its file src/pages/NAME.svelte is there:
// then it is in the rail, in the palette and at its addresses. A line names
//   the file, the address below /app/ (":name" is one part, "*name" all that follows),
//   the title, and where it is to be found: an icon of ui/Icon.svelte for the rail, its letter after g.
import type { Component } from 'svelte';

export interface Page {
  file: string;
  path: string;
  title: string;
  icon?: string;
  key?: string;
  /** Under which heading of the rail. */
  group?: 'work' | 'data' | 'account' | 'admin';
  /** Shown to administrators alone. */
  admin?: boolean;
  /** Uses all of the window, without a margin. */
  wide?: boolean;
  /** Without rail and top line, for those who are not signed in too. */
  bare?: boolean;
  /** Where the rail and the palette lead, where the path has parts that vary. */
  start?: string;
}

const all: Page[] = [
  { file: 'Overview', path: '', title: 'Overview', icon: 'home', key: 'o', group: 'work' },
  { file: 'Editor', path: 'editor', title: 'Editor', icon: 'code', key: 'e', group: 'work', wide: true },
  { file: 'Jobs', path: 'jobs', title: 'Jobs', icon: 'list', key: 'j', group: 'work' },
  { file: 'Job', path: 'jobs/:ref', title: 'Job' },
  { file: 'Inbox', path: 'inbox', title: 'Inbox', icon: 'inbox', key: 'i', group: 'work' },
  { file: 'Schedules', path: 'schedules', title: 'Schedules', icon: 'waiting', key: 'c', group: 'work' },
  { file: 'Files', path: 'files/*path', title: 'Files', icon: 'folder', key: 'f', group: 'data', start: 'files' },
  { file: 'Links', path: 'links', title: 'Links', icon: 'link', key: 'l', group: 'data' },
  { file: 'Databases', path: 'databases', title: 'Databases', icon: 'database', key: 'd', group: 'data' },
  { file: 'Database', path: 'databases/:db', title: 'Database' },
  { file: 'Table', path: 'databases/:db/:table', title: 'Table' },
  { file: 'Sites', path: 'sites', title: 'Site', icon: 'globe', key: 's', group: 'data' },
  { file: 'Machines', path: 'machines', title: 'Machines', icon: 'terminal', key: 'm', group: 'data' },
  { file: 'Webhooks', path: 'webhooks', title: 'Webhooks', icon: 'send', key: 'w', group: 'account' },
  { file: 'Mails', path: 'mails', title: 'Mails', icon: 'mail', key: 'p', group: 'account' },
  { file: 'Usage', path: 'usage', title: 'Usage', icon: 'chart', key: 'u', group: 'account' },
  { file: 'Settings', path: 'settings', title: 'Settings', icon: 'settings', key: 't', group: 'account' },
  { file: 'SettingsAccount', path: 'settings/account', title: 'Account' },
  { file: 'SettingsKeys', path: 'settings/keys', title: 'Keys' },
  { file: 'SettingsDomains', path: 'settings/domains', title: 'Domains' },
  { file: 'SettingsSecrets', path: 'settings/secrets', title: 'Secrets' },
  { file: 'SettingsScripts', path: 'settings/scripts', title: 'Published scripts' },
  { file: 'SettingsLook', path: 'settings/look', title: 'Look' },
  { file: 'SettingsLog', path: 'settings/log', title: 'Log' },
  { file: 'AdminAccounts', path: 'admin/accounts', title: 'Accounts', icon: 'people', group: 'admin', admin: true },
  { file: 'AdminPlans', path: 'admin/plans', title: 'Plans', icon: 'layers', group: 'admin', admin: true },
  { file: 'AdminNode', path: 'admin/node', title: 'Node', icon: 'server', group: 'admin', admin: true },
  { file: 'SignIn', path: 'sign-in', title: 'Sign in', bare: true },
  { file: 'Welcome', path: 'welcome', title: 'Make an account', bare: true },
  { file: 'Welcome', path: 'welcome/:token', title: 'Welcome', bare: true },
  { file: 'Reset', path: 'reset/:token', title: 'Another password', bare: true },
];

const files = import.meta.glob<{ default: Component }>('./pages/*.svelte');

export const pages: Page[] = all.filter((p) => `./pages/${p.file}.svelte` in files);

export function load(page: Page): Promise<Component> {
  return files[`./pages/${page.file}.svelte`]!().then((m) => m.default);
}

export function findPage(path: string): { page: Page; params: Record<string, string> } | null {
  const parts = path === '' ? [] : path.split('/');
  for (const page of pages) {
    const params = match(page.path === '' ? [] : page.path.split('/'), parts);
    if (params) return { page, params };
  }
  return null;
}

function match(pattern: string[], parts: string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (let i = 0; i < pattern.length; i++) {
    const p = pattern[i]!;
    if (p.startsWith('*')) {
      params[p.slice(1)] = parts.slice(i).map(decode).join('/');
      return params;
    }
    const part = parts[i];
    if (part === undefined) return null;
    if (p.startsWith(':')) params[p.slice(1)] = decode(part);
    else if (p !== part) return null;
  }
  return parts.length === pattern.length ? params : null;
}

/** A part of an address; as it is, where it is none. */
export function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
