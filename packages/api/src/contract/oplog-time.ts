const minute_seconds = 60;
const hour_seconds = 60 * minute_seconds;
/** The text does not distinguish longer times. */
const hoursShownMax = 72;
/** Nor shorter ones: they require action at once. */
const minutesShownMin = 15;

/** The contract's `estimatedOplogTimeRemaining`: the words that users of mongosync know; null stands for unknown. */
export function oplogTimeInWords(seconds: number | null): string {
  if (seconds === null) return 'not checked yet';
  const minutes = Math.floor(seconds / minute_seconds);
  if (minutes < minutesShownMin) return `less than ${minutesShownMin} minutes`;
  const hours = Math.floor(seconds / hour_seconds);
  if (hours >= hoursShownMax) return `more than ${hoursShownMax} hours`;
  if (hours === 0) return `${minutes} minutes`;
  return hours === 1 ? '1 hour' : `${hours} hours`;
}
