/** Scrolls a row sideways until one of it is seen. The page stays where it is, which scrollIntoView would move. */
export function reveal(row: HTMLElement | undefined, selector: string) {
  const one = row?.querySelector<HTMLElement>(selector);
  if (!row || !one) return;
  const over = one.getBoundingClientRect().right - row.getBoundingClientRect().right;
  const under = row.getBoundingClientRect().left - one.getBoundingClientRect().left;
  if (over > 0) row.scrollLeft += over;
  else if (under > 0) row.scrollLeft -= under;
}
