// Numbers and times, in one form everywhere.

const kept = 'ql.utc';

/** Whether exact times are shown in UTC; one switch for all pages, kept in the browser. */
export const clock = $state({ utc: localStorage.getItem(kept) === 'true', now: Date.now() });

export function setUTC(utc: boolean): void {
  clock.utc = utc;
  localStorage.setItem(kept, String(utc));
}

setInterval(() => (clock.now = Date.now()), 10_000);

const two = (n: number) => String(n).padStart(2, '0');

/** 2026-11-15 08:30:00, in the zone of the switch. */
export function exact(at: string | number | Date): string {
  const d = new Date(at);
  if (clock.utc) return d.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

const steps: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
  [Infinity, 'year'],
];
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

/** "3 min. ago", "in 2 hr.", "now". */
export function relative(at: string | number | Date): string {
  let n = (new Date(at).getTime() - clock.now) / 1000;
  if (Math.abs(n) < 10) return 'now';
  for (const [size, unit] of steps) {
    if (Math.abs(n) < size) return words.format(Math.trunc(n), unit);
    n /= size;
  }
  return exact(at);
}

/** < 1 ms (of whole ones), 0.4 ms, 120 ms, 3.2 s, 4 min 5 s. */
export function duration(ms: number): string {
  if (ms === 0) return '< 1 ms';
  if (ms < 0.01) return '< 0.01 ms';
  if (ms < 1) return (Math.round(ms * 100) / 100).toString() + ' ms';
  if (ms < 1000) return (ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)) + ' ms';
  if (ms < 60_000) return Math.round(ms / 100) / 10 + ' s';
  if (ms < 3_600_000) return Math.floor(ms / 60_000) + ' min ' + Math.round((ms % 60_000) / 1000) + ' s';
  return Math.floor(ms / 3_600_000) + ' h ' + Math.round((ms % 3_600_000) / 60_000) + ' min';
}

/** 1.2 MiB. */
export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 || n >= 100 ? Math.round(n) : Math.round(n * 10) / 10) + ' ' + units[i];
}

/** 12,480; 500M where it is long. */
export function count(n: number): string {
  if (n >= 10_000_000 && n % 1_000_000 === 0) return (n / 1_000_000).toLocaleString('en') + 'M';
  return n.toLocaleString('en');
}
