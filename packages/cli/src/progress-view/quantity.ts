const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Bytes in decimal units, for example `12.4 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${byteUnits[unit] ?? ''}`;
}

/** A whole number with separators, for example `171,075`; what a locale knows takes longer to load than most commands take. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Seconds in words as short as they can be read, for example `3m 20s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
}

/** `percent` (0 to 100) as a bar of `width` characters. */
export function formatBar(percent: number, width: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * width);
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
