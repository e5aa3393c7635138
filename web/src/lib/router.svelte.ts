// The router: the address is the state. A page reads `route`, and changes the address by go and
// setQuery, so that Back, reload and a copied address find what was seen.
import { findPage, type Page } from '../pages';

export const base = '/app/';

export interface Route {
  /** Below /app/, without a slash at either end, encoded as in an address. */
  path: string;
  page: Page | null;
  params: Record<string, string>;
  query: URLSearchParams;
}

function read(): Route {
  const path = location.pathname.replace(/^\/app\/?/, '').replace(/\/$/, '');
  const found = findPage(path);
  return { path, page: found?.page ?? null, params: found?.params ?? {}, query: new URLSearchParams(location.search) };
}

/** Where one is. The page stays the same object while the query changes, and so does what it shows. */
class Current implements Route {
  path = $state('');
  page = $state.raw<Page | null>(null);
  params = $state.raw<Record<string, string>>({});
  query = $state.raw(new URLSearchParams());
}

export const route: Route = Object.assign(new Current(), read());

function update(): void {
  Object.assign(route, read());
}

/** Goes to an address such as "jobs?state=failed", or "/app/jobs". */
export function go(to: string, o: { replace?: boolean } = {}): void {
  const target = to.startsWith('/') ? to : base + to;
  if (target === location.pathname + location.search) return;
  const samePage = new URL(target, location.href).pathname === location.pathname;
  if (o.replace) history.replaceState(null, '', target);
  else history.pushState(null, '', target);
  update();
  if (!samePage) window.scrollTo(0, 0);
}

/** Changes what stands behind the question mark; null and "" remove an entry. */
export function setQuery(change: Record<string, string | null>, o: { push?: boolean } = {}): void {
  const q = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === '') q.delete(name);
    else q.set(name, value);
  }
  const text = q.toString();
  go(location.pathname + (text === '' ? '' : '?' + text), { replace: !o.push });
}

/** An address for an href. */
export function href(to: string): string {
  return base + to;
}

/** Follows links within the dashboard without loading anything. */
export function startRouter(): void {
  window.addEventListener('popstate', update);
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const link = (e.target as Element | null)?.closest?.('a');
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname !== '/app' && !link.pathname.startsWith(base)) return;
    if (link.hash !== '' && link.pathname === location.pathname && link.search === location.search) return;
    e.preventDefault();
    go(link.pathname + link.search);
  });
}
