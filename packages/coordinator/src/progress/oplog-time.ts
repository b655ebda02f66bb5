const unitMinutes: Readonly<Record<string, number>> = { minute: 1, hour: 60, day: 24 * 60 };

/** Minutes that a text such as "12 hours" or "less than 15 minutes" speaks of; infinite when it names no time. */
function minutesOf(text: string): number {
  const match = /(?<amount>\d+) (?<unit>minute|hour|day)s?$/.exec(text);
  const { amount = '', unit = '' } = match?.groups ?? {};
  const minutes = Number(amount) * (unitMinutes[unit] ?? Number.NaN);
  if (Number.isNaN(minutes)) return Number.POSITIVE_INFINITY;
  // "less than" is shorter and "more than" is longer than the same time without these words.
  return minutes + (text.startsWith('less') ? -0.5 : 0) + (text.startsWith('more') ? 0.5 : 0);
}

/** The shortest of the oplog times that instances report in words; null when none does. */
export function shortestOplogTime(texts: readonly (string | null)[]): string | null {
  return texts.reduce((shortest, text) => {
    if (shortest === null || text === null) return shortest ?? text;
    return minutesOf(text) < minutesOf(shortest) ? text : shortest;
  }, null);
}
