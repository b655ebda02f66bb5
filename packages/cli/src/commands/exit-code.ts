/** What the processes of `convoy` end with; printed below `convoy --help`. */
export const exitCodes = {
  done: 0,
  /** The service refused, the migration has failed, clusters differ, or could not be shown to be equal, or servers do otherwise than a probe says. */
  failed: 1,
  /** Unknown command or option, or a wrong value. */
  usage: 2,
  /** The service, or the cluster that is to be probed, did not answer. */
  unreachable: 3,
  /** What `--wait` waits for has not come in its time, and the migration goes on; or a probe took longer than it may. */
  notInTime: 4,
  /** Ended by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

/** What each of them means, in a few words. */
export const exitCodeTexts: Readonly<Record<number, string>> = {
  [exitCodes.done]: 'done',
  [exitCodes.failed]: 'refused or failed (verify, probe: not so)',
  [exitCodes.usage]: 'wrong usage',
  [exitCodes.unreachable]: 'no answer',
  [exitCodes.notInTime]: 'not within --wait (probe: not in time)',
  [exitCodes.interrupted]: 'interrupted',
};
