/** What the processes of `convoy` end with; printed below `convoy --help`. */
export const exitCodes = {
  done: 0,
  /** The service refused, the migration has failed, or clusters differ, or could not be shown to be equal. */
  failed: 1,
  /** Unknown command or option, or a wrong value. */
  usage: 2,
  /** The service did not answer. */
  unreachable: 3,
  /** What `--wait` waits for has not come in its time; the migration goes on. */
  notInTime: 4,
  /** Ended by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

/** What each of them means, in a few words. */
export const exitCodeTexts: Readonly<Record<number, string>> = {
  [exitCodes.done]: 'done',
  [exitCodes.failed]: 'refused or failed (verify: not equal)',
  [exitCodes.usage]: 'wrong usage',
  [exitCodes.unreachable]: 'no answer',
  [exitCodes.notInTime]: 'not within --wait',
  [exitCodes.interrupted]: 'interrupted',
};
