// The one notation of quantities, in the dashboard, the command line and its tests. It is here because a browser loads
// only the dashboard's own modules.

const unknown = '–';
const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes with three significant digits, for example `1.25 GB`; a dash when unknown. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes == null) return unknown;
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? String(Math.round(value)) : value.toPrecision(3)} ${units[unit] ?? ''}`;
}

/** Bytes per second. */
export function byteRateText(bytesPerSecond: number | null | undefined): string {
  return bytesPerSecond == null ? unknown : `${bytesText(bytesPerSecond)}/s`;
}

/** A whole number with separators, for example `171,075`. Locale data would load slower than most commands run. */
export function countText(count: number | null | undefined): string {
  if (count == null) return unknown;
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Events per second. */
export function eventRateText(perSecond: number | null | undefined): string {
  return perSecond == null ? unknown : `${countText(perSecond)}/s`;
}

/** Seconds as `45 s`, `12 min`, `3 h 05 min` or `2 d 4 h`. */
export function durationText(seconds: number | null | undefined): string {
  if (seconds == null) return unknown;
  const whole = Math.round(seconds);
  if (whole < 100) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Per cent with one decimal; 100 only for the whole. */
export function percentText(percent: number | null | undefined): string {
  if (percent == null) return unknown;
  return `${(percent >= 100 ? 100 : Math.min(99.9, percent)).toFixed(1)} %`;
}

/** Local time of day. */
export function clockText(at_ms: number): string {
  return new Date(at_ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** Local date and time. */
export function dateTimeText(at_ms: number): string {
  return new Date(at_ms).toLocaleString('en-GB', {
    day: '2-digit',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}
