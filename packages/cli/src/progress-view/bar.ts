/** `percent` (0 to 100) as a bar of `width` characters. */
export function formatBar(percent: number, width: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * width);
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
