import type { ErrorName } from '@convoy/api/errors/convoy-error';

/** Exit codes of `convoy`; `convoy --help` lists them. */
export const exitCodes = {
  done: 0,
  /**
   * The service rejected the command, the migration failed, clusters differ or could not be proven equal, or a probe
   * does not hold.
   */
  failed: 1,
  /** Unknown command or option, or an invalid value. */
  usage: 2,
  /** The service, a cluster or Redis did not respond. */
  unreachable: 3,
  /** The condition of `--wait` was not met in time, and the migration continues; or a probe timed out. */
  notInTime: 4,
  /** Ended by Ctrl-C, SIGTERM, or because the reader of its output has ended. */
  interrupted: 130,
} as const;

/** The end of a command whose printed result has a code of its own. */
export class EndedWith extends Error {
  override readonly name = 'EndedWith';

  constructor(readonly code: number) {
    super(`ended with ${code}`);
  }
}

/**
 * Ends a command that has printed its result.
 * @throws EndedWith unless the code is 0
 */
export function endWith(code: number): void {
  if (code !== exitCodes.done) throw new EndedWith(code);
}

/** Meaning of each code, as a phrase. */
export const exitCodeTexts: Readonly<Record<number, string>> = {
  [exitCodes.done]: 'done',
  [exitCodes.failed]: 'rejected or failed (verify, probe: untrue)',
  [exitCodes.usage]: 'usage error',
  [exitCodes.unreachable]: 'no response',
  [exitCodes.notInTime]: 'not within --wait (probe: not in time)',
  [exitCodes.interrupted]: 'interrupted',
};

/** Failures in which a service, cluster or Redis did not respond. */
const silentErrors: readonly ErrorName[] = [
  'instanceUnreachable',
  'requestTimedOut',
  'tlsFailed',
  'sourceUnavailable',
  'destinationUnavailable',
  'redisUnavailable',
];

/** The exit code for failures with these names: whoever did not respond decides. */
export function exitCodeOf(errors: readonly ErrorName[]): number {
  return errors.some((error) => silentErrors.includes(error)) ? exitCodes.unreachable : exitCodes.failed;
}
