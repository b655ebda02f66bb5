/** What the processes of `convoy` end with; printed below `convoy --help`. */
export const exitCodes = {
  done: 0,
  /** The service refused, the migration has failed, or clusters differ. */
  failed: 1,
  /** Unknown command or option, or a wrong value. */
  usage: 2,
  /** The service did not answer. */
  unreachable: 3,
  /** Ended by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

export const exitCodesHelp = `
Exit codes: ${exitCodes.done} done, ${exitCodes.failed} refused or failed, ${exitCodes.usage} wrong usage, ${exitCodes.unreachable} the service does not answer, ${exitCodes.interrupted} interrupted.`;
