import type { Hazard } from '../hazard.js';
import { coordinator, coordinatorTest, instance, instanceTest, integrationTest } from '../places.js';

/** Processes that die, freeze and are replaced. */
const transactionsTest = 'packages/instance/test/integration/store/write-transactions.test.ts';

export const ownerHazards: readonly Hazard[] = [
  {
    number: 10,
    hazard: 'Two processes with the same identity both apply',
    handling:
      'Every owner takes an epoch in the metadata database. Every write of state is conditional on it; the loser ' +
      'stops. No earlier migration on the cluster has used the epochs of the present one. An owner whose own upserts ' +
      'collide is no loser.',
    sabotages: [
      {
        takesOut: "the epoch, in the condition of a task's writes",
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
        takesOut: "the epoch, in the condition of the leader's writes",
        file: instance('store/migration-record.ts'),
        symbol: 'asLeader',
        find: '{ leaderEpoch, ...condition }',
        replace: 'condition',
        tests: [instanceTest('store/metadata.test.ts', 'accepts only writes of the present leader')],
      },
      {
        takesOut: 'the repetition of an upsert that has met one of the same owner',
        file: instance('store/metadata.ts'),
        symbol: 'refusingStale',
        find: 'if (isDuplicate(error)) return upsert();',
        replace: '',
        tests: [
          instanceTest(
            'store/metadata-stale.test.ts',
            'an owner that has inserted the same document twice at once stays the owner',
          ),
        ],
      },
      {
        takesOut: "the time of its begin, in a migration's epochs",
        file: instance('lifecycle/instance/record-migration.ts'),
        symbol: 'recordMigration',
        find: 'firstEpoch: firstEpochAt(time)',
        replace: 'firstEpoch: firstEpochAt(time % 2n)',
        tests: [
          integrationTest(
            'cleanup/cleanup.test.ts',
            'ends a migration whose instances have been stopped, once approved, and reverts what it started',
          ),
        ],
      },
      {
        takesOut: 'the first epoch of a migration, in those of its leaders',
        file: instance('store/migration-record.ts'),
        symbol: 'begin',
        find: 'leaderEpoch: migration.firstEpoch ?? 0,',
        replace: 'leaderEpoch: 0,',
        tests: [
          instanceTest(
            'store/migration-record.test.ts',
            'neither opens the destination of the next one nor writes as its leader',
          ),
        ],
      },
      {
        takesOut: 'the first epoch of a migration, in those of its tasks',
        file: instance('store/task-record.ts'),
        symbol: 'take',
        find: 'epoch: firstEpoch,',
        replace: 'epoch: 0,',
        tests: [instanceTest('store/migration-record.test.ts', 'does not confirm that it owns a task of the next one')],
      },
      {
        takesOut: 'the look whether the record is still that of the same migration',
        file: instance('store/migration-watch.ts'),
        symbol: 'read',
        find: 'if (record.firstEpoch !== this.#view.record.firstEpoch)',
        replace: 'if (record.firstEpoch === -1)',
        tests: [
          instanceTest(
            'store/migration-watch.test.ts',
            'is not taken from a later migration, which began after this one was cleaned up',
          ),
        ],
      },
    ],
  },
  {
    number: 51,
    hazard: 'The last writes of a dead or frozen process arrive after its successor has begun',
    handling:
      'Writes use server sessions of the task, numbered by epoch. A successor fences them on every shard before it ' +
      'reads anything. An owner fences the session of every write that it had to retry. Writes of state have numbers ' +
      'or conditions: a late copy undoes no later one.',
    sabotages: [
      {
        takesOut: 'the fence of a restarted instance',
        file: instance('lifecycle/task/sync-tasks.ts'),
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
        takesOut: 'the fence where another process has made the task',
        file: instance('lifecycle/instance/own-tasks.ts'),
        symbol: 'isNew',
        find: 'return !this.#hasTaken && isFirst && owner.incarnation === this.owner.incarnation;',
        replace: 'return !this.#hasTaken && isFirst && owner.incarnation.length >= 0;',
        tests: [instanceTest('lifecycle/instance/own-tasks.test.ts', 'is taken from its owner: %s')],
      },
      {
        takesOut: 'the zones of the fence while collections are made',
        file: instance('catalog/place-chunks.ts'),
        symbol: 'findZonesOfChunks',
        find: 'return { ranges: ranges.filter(places), shards: shards.filter(places) };',
        replace: 'void places;\n  return { ranges, shards };',
        tests: [
          instanceTest(
            'catalog/place-chunks.test.ts',
            'zones of users and of the fence are not those that place chunks of collections',
          ),
        ],
      },
      {
        takesOut: 'the epoch, in the numbers of writes',
        file: instance('store/fenced-writer.ts'),
        symbol: 'FencedWriter',
        find: 'const first = BigInt(epoch) * numbersPerEpoch + 1n;',
        replace: 'const first = BigInt(epoch) * 0n + numbersPerEpoch + 1n;',
        tests: [instanceTest('store/fenced-writer.test.ts', 'has a number of its epoch that is used only once')],
      },
      {
        takesOut: 'the check that every shard has the fence',
        file: instance('store/fence.ts'),
        symbol: 'send',
        find: 'if (n + stored < this.#write.statements.length) {',
        replace: 'if (outcome.n < 0) {',
        tests: [instanceTest('store/fenced-writer.test.ts', 'that did not change a document on every shard fails')],
      },
      {
        takesOut: 'the check of the owner before a write',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: 'await this.confirm();\n      sendings += 1;',
        replace: 'sendings += 1;',
        tests: [instanceTest('store/fenced-writer.test.ts', 'is not sent when the owner cannot be confirmed')],
      },
      {
        takesOut: 'the fence after a write that was sent more than once',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: "if (sendings > ('error' in answer ? 0 : 1)) {",
        replace: "if (sendings > ('error' in answer ? 0 : 1_000)) {",
        tests: [
          instanceTest(
            'store/fenced-writer.test.ts',
            'that was repeated ends once its session is fenced on every shard, under a new number',
          ),
          integrationTest(
            'contract/fenced-sessions.test.ts',
            'a delayed copy of a repeated write overwrites nothing newer, even if the other changed nothing',
          ),
        ],
      },
      {
        takesOut: "the order of a task's writes, in that of partitions",
        file: instance('store/task-storage.ts'),
        symbol: 'saverOf',
        find: 'epoch: this.epoch, ...this.#order.upToNow() };\n      if',
        replace: 'epoch: this.epoch };\n      if',
        tests: [instanceTest('store/late-copies.test.ts', 'puts no partition back to an earlier state')],
      },
      {
        takesOut: "the order of a task's writes, in the removal of documents to re-read",
        file: instance('store/task-storage.ts'),
        symbol: 'remove',
        find: '...this.#order.upToNow() };\n    for (const part of partsWithin(names,',
        replace: '};\n    for (const part of partsWithin(names,',
        tests: [instanceTest('store/late-copies.test.ts', 'removes no document to re-read that was added again')],
      },
      {
        takesOut: "the order of a verifier's writes, in that of its progress",
        file: instance('store/task-storage.ts'),
        symbol: 'saveParts',
        find: 'q: { _id, epoch: { $lte: this.epoch }, ...this.#order.upToNow() },',
        replace: 'q: { _id, epoch: { $lte: this.epoch } },',
        tests: [instanceTest('store/late-copies.test.ts', 'puts no part of a comparison back to an earlier state')],
      },
      {
        takesOut: "the order of a verifier's writes, in the removal of mismatches",
        file: instance('store/task-storage.ts'),
        symbol: 'removeMismatches',
        find: '...this.#order.upToNow() };\n    for (const part of partsWithin(ids,',
        replace: '};\n    for (const part of partsWithin(ids,',
        tests: [instanceTest('store/late-copies.test.ts', 'removes no mismatch that was found again')],
      },
      {
        takesOut: 'the refusal to write an entry of the DDL journal again that is done',
        file: instance('store/ddl-journal.ts'),
        symbol: 'append',
        find: "$nor: [{ epoch: leaderEpoch, state: 'done' }]",
        replace: "$nor: [{ epoch: -1, state: 'done' }]",
        tests: [instanceTest('store/late-copies.test.ts', 'makes no DDL change undone that is done')],
      },
      {
        takesOut: "the order of a leader's writes, in that of UUID pairs",
        file: instance('store/ddl-journal.ts'),
        symbol: 'record',
        find: 'epoch: { $lte: this.leaderEpoch }, ...this.#order.upToNow() };',
        replace: 'epoch: { $lte: this.leaderEpoch } };',
        tests: [instanceTest('store/late-copies.test.ts', 'gives no collection back its former counterpart')],
      },
      {
        takesOut: 'the look whether another process has its identity, before a process takes a task',
        file: instance('store/task-record.ts'),
        symbol: 'take',
        find: 'if ((await fleet?.isReplaced?.()) === true) throw takenOver(taskId);',
        replace: 'await fleet?.isReplaced?.();',
        tests: [
          instanceTest('store/metadata.test.ts', 'is not taken back by a process that was frozen while it took it'),
        ],
      },
      {
        takesOut: 'the repetition of that look, which a thawed process needs for its lost connection',
        file: coordinator('fleet/identity-lease.ts'),
        symbol: 'isTaken',
        find: 'if (performance.now() >= until_ms) throw error;',
        replace: 'if (performance.now() >= 0) throw error;',
        tests: [coordinatorTest('fleet/identity-lease.test.ts', 'is asked again by a thawed process')],
      },
      {
        takesOut: 'the comparison of a report with the stored one',
        file: instance('lifecycle/task/follow-commit.ts'),
        symbol: 'reportLateWrites',
        find: 'if (!isNews(found, watch.view.tasks.get(taskId)?.drained ?? null)) return;',
        replace:
          'const own = ((globalThis as { own?: WeakMap<object, DrainedRound> }).own ??= new WeakMap());\n' +
          '  if (!isNews(found, own.get(taskRecords) ?? null)) return;\n' +
          '  own.set(taskRecords, found);',
        tests: [
          instanceTest(
            'lifecycle/task/sync-tasks.test.ts',
            'a task reports again what a late copy of its earlier report has replaced, and nothing else twice',
          ),
        ],
      },
      {
        takesOut: 'the sessions of the tasks of others',
        file: instance('lifecycle/instance/own-tasks.ts'),
        symbol: 'keepSessions',
        find: '[...watch.view.tasks.values()].flatMap',
        replace: '[...watch.view.tasks.values()].slice(0, 1).flatMap',
        tests: [
          instanceTest(
            'lifecycle/instance/own-tasks.test.ts',
            'the sessions of all tasks are refreshed until the commit, whoever owns them',
          ),
        ],
      },
    ],
  },
  {
    number: 65,
    hazard: 'A message in a shared Redis makes tasks acknowledge what never happened',
    handling:
      'Messages only say where to look. The record holds the DDL watermark. A peer is ready only if its record says ' +
      'so too. A command through Redis is checked like one over HTTP.',
    sabotages: [
      {
        takesOut: 'the record; a message is believed that is far ahead',
        file: instance('store/migration-watch.ts'),
        symbol: 'journalledBy',
        find: 'ddlWatermark: record.ddlWatermark === null ? null : timeOf(record.ddlWatermark.time) };',
        replace: 'ddlWatermark: 2n ** 62n };',
        tests: [instanceTest('store/migration-watch.test.ts', 'makes an instance believe nothing but the record')],
      },
      {
        takesOut: 'the pause between two reads',
        file: instance('store/migration-watch.ts'),
        symbol: 'look',
        find: 'await clock.sleep(pause_ms, signal);',
        replace: '',
        tests: [
          instanceTest(
            'store/migration-watch.test.ts',
            'and sends %s endlessly makes it read no more often than the pause allows',
          ),
        ],
      },
      {
        takesOut: "the record of a peer's copy",
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingElsewhere',
        find: 'if (task?.copyDone !== true || task.paused) return',
        replace: 'if (task?.copyDone === null) return',
        tests: [
          instanceTest(
            'lifecycle/instance/commit-offer.test.ts',
            'of a task %s by its record makes no commit possible',
          ),
        ],
      },
      {
        takesOut: 'the check of a command that comes through Redis',
        file: 'packages/api/src/http/contract-routes.ts',
        symbol: 'acceptCommand',
        find: '  parseCommandBody(body ?? {});\n',
        replace: '',
        tests: [
          instanceTest('lifecycle/instance/fleet-command-carry-out.test.ts', 'is refused like one over HTTP: %s'),
        ],
      },
    ],
  },
  {
    number: 78,
    hazard:
      'A frozen process meets its own failure (a stream too old to resume, exhausted retries) before it notices its ' +
      'successor, and ends the migration',
    handling: 'Before a process records a failure it reads who owns its task. A process that was replaced ends alone.',
    sabotages: [
      {
        takesOut: 'the check who owns the task',
        file: instance('lifecycle/instance/own-tasks.ts'),
        symbol: 'recordFailure',
        find: 'if (await isReplaced().catch(isStale))',
        replace: 'if ((await isReplaced().catch(isStale)) && failure.retry === undefined)',
        tests: [
          instanceTest(
            'lifecycle/instance/own-tasks-record-failure.test.ts',
            'a replaced process ends with its failure, and the migration continues',
          ),
        ],
      },
    ],
  },
  {
    number: 94,
    hazard:
      'An instance that was away takes a recorded command of the fleet later, with other options than the rest. Or ' +
      'it takes a pause after its operator has resumed it',
    handling:
      'It starts with the options of the record. Commands have numbers: it takes only the later one of pause and ' +
      'resume, and none that is below the last one that it has taken.',
    sabotages: [
      {
        takesOut: 'the recorded options of a late start',
        file: instance('lifecycle/instance/fleet-command.ts'),
        symbol: 'take',
        find: 'service.start(options, id)',
        replace: "service.start({ ...options, buildIndexes: 'never' }, id)",
        tests: [
          instanceTest(
            'lifecycle/instance/fleet-command-missed-commands.test.ts',
            'takes it with the recorded options and the recorded id',
          ),
        ],
      },
      {
        takesOut: 'the number of the last command that a task has taken',
        file: instance('store/fleet-commands.ts'),
        symbol: 'missedPause',
        find: '(task.followed ?? 0) >= last.number || ',
        replace: '',
        tests: [instanceTest('store/fleet-commands.test.ts', '%s')],
      },
      {
        takesOut: 'the order of pause and resume',
        file: instance('store/fleet-commands.ts'),
        symbol: 'missedPause',
        find: '(pause?.number ?? 0) > (resume?.number ?? 0)',
        replace: '(pause?.number ?? 0) > 0',
        tests: [instanceTest('store/fleet-commands.test.ts', '%s')],
      },
    ],
  },
  {
    number: 96,
    hazard:
      'A connection string leads to a shard, a config server or another replica set: Convoy takes part of a ' +
      'cluster, or another, for the whole',
    handling:
      'A replica set that belongs to a sharded cluster is refused by name, and so is one that `replicaSet` does not ' +
      'name.',
    sabotages: [
      ['the refusal of a config server', 'if (kind.isConfigServer) return', "if (name === '') return"],
      ['the refusal of a shard', 'if (shard !== null) return', "if (shard !== null && name === '') return"],
      ['the refusal of another replica set', 'wanted === null || wanted === kind.setName', "wanted !== ''"],
    ].map(([takesOut = '', find = '', replace = '']) => ({
      takesOut,
      file: instance('cluster/open-cluster.ts'),
      symbol: 'requireReplicaSet',
      find,
      replace,
      tests: [
        {
          file: 'packages/cli/test/integration/connection/mistakes.test.ts',
          title: 'is explained by the client: $name',
        },
      ],
    })),
  },
  {
    number: 220,
    hazard:
      'The answer to the commit of a transaction is lost, and its statements are sent again: each takes effect ' +
      'twice. Or they are given up for lost, and none does',
    handling:
      'The commit is asked for, under its number, until the server says that it stands or that it knows of no such ' +
      'transaction. Only then are the statements sent apart, under the next number. A new owner fences a transaction ' +
      'like every other write.',
    sabotages: [
      {
        takesOut: 'the repetition of the commit',
        file: instance('store/fenced-writer.ts'),
        symbol: 'committed',
        find: "return this.retrying('commit documents', send, signal);",
        replace: 'return send().catch(() => false);',
        tests: [
          instanceTest('store/fenced-writer.test.ts', 'is not sent again while nobody knows whether it is committed'),
          { file: transactionsTest, title: 'it takes effect once when %s' },
        ],
      },
      {
        takesOut: 'the number of the statements that are sent apart',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeTogether',
        find: 'beginsTransaction: true } as const;\n    slot.next += 1n;',
        replace: 'beginsTransaction: true } as const;',
        tests: [
          instanceTest(
            'store/fenced-writer.test.ts',
            'is sent apart when %s before the commit: what is not committed is not written',
          ),
        ],
      },
      {
        takesOut: 'the refusal of a former owner',
        file: instance('store/fenced-writer.ts'),
        symbol: 'committed',
        find: "throw classify(error) === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;",
        replace: "if (classify(error) === 'staleEpoch') return false;\n        throw error;",
        tests: [instanceTest('store/fenced-writer.test.ts', 'of a former owner ends with staleEpoch when it %s')],
      },
    ],
  },
];
