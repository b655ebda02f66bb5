import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Processes that die, freeze and are replaced. */
export const ownerHazards: readonly Hazard[] = [
  {
    number: 10,
    hazard: 'Two processes with the same identity both apply',
    handling:
      'Every owner takes an epoch in the metadata database, and every state write is conditional on it; the loser stops.',
    sabotages: [
      {
        takesOut: "the epoch from the condition of a share's writes",
        file: instance('store/task-record.ts'),
        symbol: 'update',
        find: '{ _id: taskId, epoch }',
        replace: '{ _id: taskId }',
        tests: [
          instanceTest(
            'store/metadata.test.ts',
            'gets a new epoch with every owner, keeps its sessions, and refuses former owners',
          ),
        ],
      },
      {
        takesOut: "the epoch from the condition of the leader's writes",
        file: instance('store/migration-record.ts'),
        symbol: 'updateAsLeader',
        find: '{ _id: recordId, leaderEpoch, ...notBeyond(set) }',
        replace: '{ _id: recordId, ...notBeyond(set) }',
        tests: [instanceTest('store/metadata.test.ts', 'takes writes of the present leader only')],
      },
    ],
  },
  {
    number: 51,
    hazard: "A dead or frozen process's last writes arrive after its successor has begun",
    handling:
      'Writes go in server sessions of the identity, numbered by epoch; a successor fences them on every shard before it reads anything, and an owner the session of every write that it had to send again.',
    sabotages: [
      {
        takesOut: 'the fence of a restarted instance',
        file: instance('lifecycle/run/member.ts'),
        symbol: 'fenceFormerOwner',
        find: 'await new SessionFence(destination, runtime.retrying).stopFormerOwner(sessions, record.epoch, signal);',
        replace: 'void [SessionFence, destination, runtime, sessions, signal];',
        tests: [
          integrationTest(
            'contract/fenced-sessions.test.ts',
            'the servers refuse what a former process of an instance still sends, on every shard',
          ),
        ],
      },
      {
        takesOut: 'the epoch from the numbers of writes',
        file: instance('store/fenced-writer.ts'),
        symbol: 'FencedWriter',
        find: 'const first = BigInt(epoch) * numbersPerEpoch + 1n;',
        replace: 'const first = BigInt(epoch) * 0n + numbersPerEpoch + 1n;',
        tests: [instanceTest('store/fencing.test.ts', 'has a number of its epoch that is never used again')],
      },
      {
        takesOut: 'the look whether every shard has taken the fence',
        file: instance('store/session-fence.ts'),
        symbol: 'send',
        find: 'if (n + stored < this.#write.statements.length) {',
        replace: 'if (outcome.n < 0) {',
        tests: [instanceTest('store/fencing.test.ts', 'that did not change a document on every shard is none')],
      },
      {
        takesOut: 'the question for the owner before a write',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: 'await this.confirm();',
        replace: '',
        tests: [instanceTest('store/fencing.test.ts', 'is not sent when the owner cannot be confirmed')],
      },
      {
        takesOut: 'the fence behind a write that was sent more than once',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: "if (sendings > ('error' in answer ? 0 : 1)) {",
        replace: "if (sendings > ('error' in answer ? 0 : 1_000)) {",
        tests: [
          instanceTest(
            'store/fencing.test.ts',
            'that was sent more than once is over when its session is fenced on every shard, under a number of its own',
          ),
          integrationTest(
            'contract/fenced-sessions.test.ts',
            'a copy of a repeated write that a router still holds overwrites nothing newer, where the answered one changed nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 65,
    hazard: 'One message in a shared Redis makes tasks acknowledge what never was',
    handling:
      'Messages say where to look and never what is to be seen: how far definition changes are known stands in the record. A peer is ready only where its record says so too, and a command is checked as one over HTTP.',
    sabotages: [
      {
        takesOut: 'the record, for whatever was heard to be far ahead',
        file: instance('lifecycle/migration/migration-watch.ts'),
        symbol: 'journalledBy',
        find: 'ddlWatermark: record.ddlWatermark === null ? null : timeOf(record.ddlWatermark.time) };',
        replace: 'ddlWatermark: 2n ** 62n };',
        tests: [
          instanceTest(
            'lifecycle/migration/migration-watch.test.ts',
            'makes an instance believe nothing but the record',
          ),
        ],
      },
      {
        takesOut: 'the pause between two readings',
        file: instance('lifecycle/migration/migration-watch.ts'),
        symbol: 'look',
        find: 'await clock.sleep(this.#pause_ms(), signal);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/migration/migration-watch.test.ts',
            'and says %s without end makes it read no more often than the pause allows',
          ),
        ],
      },
      {
        takesOut: "the record of a peer's copy",
        file: instance('lifecycle/progress/commit-offer.ts'),
        symbol: 'missingElsewhere',
        find: 'if (task?.copyDone !== true || task.paused) return',
        replace: 'if (task?.copyDone === null) return',
        tests: [
          instanceTest(
            'lifecycle/progress/commit-offer.test.ts',
            'of a share %s by its record makes no commit possible',
          ),
        ],
      },
      {
        takesOut: 'the check of a command that comes through Redis',
        file: 'packages/api/src/http/run-command.ts',
        symbol: 'runCommand',
        find: '  parseCommandBody(body ?? {});\n',
        replace: '',
        tests: [instanceTest('process/carry-out.test.ts', 'is refused as one over HTTP is: %s')],
      },
    ],
  },
  {
    number: 78,
    hazard:
      'A process that was frozen meets a failure of its own (a stream that it comes too late for, retries that lasted too long) before it knows that another has taken its shares, and ends the migration',
    handling: 'Before a process records a failure it reads who has its shares; one that was replaced ends alone.',
    sabotages: [
      {
        takesOut: 'the look at who has the shares',
        file: instance('lifecycle/run/record-failure.ts'),
        symbol: 'recordFailure',
        find: 'if (await isReplaced().catch(() => false))',
        replace: 'if ((await isReplaced().catch(() => false)) && failure.retry === undefined)',
        tests: [
          instanceTest(
            'lifecycle/run/record-failure.test.ts',
            'a process that was replaced ends with what it meets, and the migration goes on',
          ),
        ],
      },
    ],
  },
];
