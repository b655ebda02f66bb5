/** A step that need not be equal. It counts as different all the same. */
interface ExcusedStep {
  /** `file:step`. */
  readonly step: string;
  readonly reason: string;
}

const passthrough = 'The simulator refuses `$_passthroughToShard` by name.';
const columns = 'The columns of a bucket have an order of their own in each run of a server.';
const originalVersion = 'The simulator notes no version in what the user wrote of an index.';
const collation = 'The message about the plan of an aggregation also names the simple collation.';
const privileges = 'Actions that came after 7.0 are missing, such as those of search indexes and query statistics.';

export const excusedSteps: readonly ExcusedStep[] = [
  {
    step: '06-resume-and-errors:44',
    reason:
      'The server cannot write its own error message, which quotes an expression of more than 16 MB. ' +
      'The simulator keeps to the time limit.',
  },
  {
    step: '07-auth:51',
    reason:
      'On disk an index built over documents takes 20,480 bytes, one that grew with them 4,096. ' +
      'The simulator has memory only.',
  },
  {
    step: '13-orphans:11',
    reason:
      'The recorded balancer had just spread the 1024 chunks of config.system.sessions, whose ranges wait for ' +
      'clean-up too.',
  },
  {
    step: '8.0/04-events-documents:144',
    reason: 'The message quotes the whole document as the query of the delete. The simulator deletes by `_id`.',
  },
  {
    step: '8.0/06-resume-and-errors:9',
    reason: 'A stream that resumes at a token of version 1 goes on with version 2. The simulator keeps the version.',
  },
  { step: '8.0/06-resume-and-errors:14', reason: passthrough },
  { step: '8.0/06-resume-and-errors:36', reason: passthrough },
  { step: '8.0/07-auth:4', reason: privileges },
  { step: '8.0/07-auth:23', reason: privileges },
  { step: '8.0/07-auth:42', reason: privileges },
  {
    step: '8.0/07-auth:51',
    reason:
      'On disk an index built over documents takes 20,480 bytes, one that grew with them 4,096. ' +
      'The simulator has memory only.',
  },
  {
    step: '8.0/08-reads-at-a-time:30',
    reason: "The time of one shard's last token lies before or after the last write of the other shard.",
  },
  {
    step: '8.0/13-orphans:11',
    reason: 'The simulator neither counts the orphans of a range nor notes its time and key there.',
  },
  { step: '8.0/17-time-series:16', reason: columns },
  { step: '8.0/17-time-series:18', reason: columns },
  { step: '8.0/17-time-series:20', reason: columns },
  { step: '8.0/17-time-series:22', reason: columns },
  { step: '8.0/17-time-series:24', reason: originalVersion },
  { step: '8.0/17-time-series:25', reason: originalVersion },
  { step: '8.0/17-time-series:26', reason: 'The message names the seconds since 1970.' },
  { step: '8.0/18-under-way:160', reason: collation },
  { step: '8.0/18-under-way:180', reason: collation },
];
