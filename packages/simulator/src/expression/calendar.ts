/** Milliseconds of a day without changes of the clock. */
export const DAY_MS = 86_400_000;

/** Monday is 1, Sunday 7. */
export function isoDayOfWeek(date: Date): number {
  return date.getUTCDay() === 0 ? 7 : date.getUTCDay();
}

/** 1 for the first of January. */
export function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS) + 1;
}

/** Weeks that started on a Sunday of this year: 0 to 53. */
export function weekOfYear(date: Date): number {
  return Math.floor((dayOfYear(date) + 6 - date.getUTCDay()) / 7);
}

/** Year and week (1 to 53) by ISO 8601: a week belongs to the year of its Thursday. */
export function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getTime() + (4 - isoDayOfWeek(date)) * DAY_MS);
  return { year: thursday.getUTCFullYear(), week: Math.floor((dayOfYear(thursday) - 1) / 7) + 1 };
}

/** A date some months later. A day that its month does not have becomes the last one. */
export function plusMonths(date: Date, months: number): Date {
  const result = new Date(date);
  result.setUTCDate(1);
  result.setUTCMonth(result.getUTCMonth() + months);
  const last = new Date(Date.UTC(result.getUTCFullYear(), result.getUTCMonth() + 1, 0)).getUTCDate();
  result.setUTCDate(Math.min(date.getUTCDate(), last));
  return result;
}
