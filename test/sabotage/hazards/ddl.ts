import type { Hazard } from '../hazard.js';
import { instance, instanceTest } from '../places.js';

/** DDL changes during a migration. */
export const ddlHazards: readonly Hazard[] = [
  {
    number: 19,
    hazard: 'Definition changes race data changes, on one shard and across the fleet: each shard shows its own `drop`',
    handling:
      "The journal has one entry of all shards' copies; nothing is routed beyond what it knows; every share lets go of the collections concerned and consents before the leader applies an entry, once.",
    sabotages: [
      {
        takesOut: 'the wait for the copies of all shards',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeCopy',
        find: 'if (one.copies >= one.copiesExpected) await this.#complete(one, signal);',
        replace: 'await this.#complete(one, signal);',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'are one entry at the time of the last; until then the horizon stays below the first',
          ),
        ],
      },
      {
        takesOut: 'what was done until copies are no longer waited for',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'settle',
        find: 'else if (readBelow > one.includedTo) {',
        replace: 'else {',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'are waited for no longer once the catalog shows the change and everything up to a time above it was read',
          ),
        ],
      },
      {
        takesOut: 'what is known before a collection is entered that streams do not show',
        file: instance('ddl/take-unknown.ts'),
        symbol: 'takeUnknown',
        find: 'await deps.untilKnown(time, signal);',
        replace: '',
        tests: [
          instanceTest(
            'ddl/take-unknown.test.ts',
            'waits for the stream to tell of a rename up to the time, which then says what it is',
          ),
        ],
      },
      {
        takesOut: 'the horizon from what is routed',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'limit',
        find: 'return this.#ceiling !== null && this.#ceiling < below ? this.#ceiling : below;',
        replace: 'return this.#ceiling ?? below + 2n ** 60n;',
        tests: [
          instanceTest(
            'apply/dispatch-limits.test.ts',
            'keeps events at and above it, which count in the budget, until it has moved on',
          ),
        ],
      },
      {
        takesOut: 'the reading of entries before their horizon counts',
        file: instance('lifecycle/task/follow-ddl.ts'),
        symbol: 'readJournal',
        find: 'this.sync.ddlChanges.learn(await this.source.readAfter(this.#read, known, stop));',
        replace:
          'void this.source.readAfter(this.#read, known, stop).then((read) => this.sync.ddlChanges.learn(read));',
        tests: [
          instanceTest(
            'lifecycle/task/follow-ddl.test.ts',
            'heeds the entries below a horizon before it routes up to it',
          ),
        ],
      },
      {
        takesOut: 'the letting go before a consent',
        file: instance('lifecycle/task/follow-ddl.ts'),
        symbol: 'answer',
        find: 'await this.sync.ddlChanges.quiet(stop);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/follow-ddl.test.ts',
            'consents only when nothing is under way of what it has let go of',
          ),
        ],
      },
      {
        takesOut: 'waves under way from what a consent waits for',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'quiet',
        find: 'await applyWorkers.answered(uuid, signal);',
        replace: 'void applyWorkers;',
        tests: [
          instanceTest('lifecycle/task/task-ddl.test.ts', 'is quiet once copies, waves and repairs of it are answered'),
        ],
      },
      {
        takesOut: 'copies under way from what a consent waits for',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'quiet',
        find: 'await copier.quiet(uuid, signal);',
        replace: 'void copier;',
        tests: [
          instanceTest('lifecycle/task/task-ddl.test.ts', 'is quiet once copies, waves and repairs of it are answered'),
        ],
      },
      {
        takesOut: 'the setting aside of waiting events',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'suspend',
        find: 'this.stages.applyWorkers.park(uuid);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'is let go of by lanes, copier and repairer in the moment in which the share learns of it',
          ),
        ],
      },
      {
        takesOut: 'the wait for all consents',
        file: instance('lifecycle/leader/ddl-leader.ts'),
        symbol: 'apply',
        find: 'acknowledged >= ddlChange.ordinal',
        replace: 'acknowledged >= ddlChange.ordinal - 1',
        tests: [
          instanceTest(
            'lifecycle/leader/ddl-leader.test.ts',
            'a change is applied only when every share has consented',
          ),
        ],
      },
    ],
  },
  {
    number: 43,
    hazard: 'A stale definition change is replayed after a resume: NamespaceNotFound, IndexNotFound',
    handling: 'What the journal includes is passed over; what the destination has already is accepted.',
    sabotages: [
      {
        takesOut: 'the time up to which the journal includes what became of a collection',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: 'if (includedTo !== null && event.time <= includedTo) return;',
        replace: 'void includedTo;',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'that a resumed stream shows again are passed over')],
      },
      {
        takesOut: 'the acceptance of what has gone already',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'drop',
        find: 'if (!isOutdated(error)) throw error;',
        replace: 'throw error;',
        tests: [
          instanceTest('ddl/apply-ddl-change.test.ts', 'that an earlier sending has carried out is done (code %i)'),
        ],
      },
      {
        takesOut: 'the acceptance of a name that a collection has already',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'renameRecorded',
        find: 'if (!isOutdated(error) || after?.name !== to.name) throw error;',
        replace: 'if (after !== undefined) throw error;',
        tests: [instanceTest('ddl/apply-ddl-change.test.ts', 'that an earlier sending has carried out is done')],
      },
    ],
  },
  {
    number: 44,
    hazard: "A rename across the filter's edge: into it, out of it, over a target",
    handling: 'Out of it is a drop, into it a creation, over a followed collection drops that; outside is nothing.',
    sabotages: [
      {
        takesOut: 'the drop of what leaves',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'complete',
        find: ' || !filter.includes(to.database, to.name)) return { ...found',
        replace: ') return { ...found',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'out of it is a drop')],
      },
      {
        takesOut: 'the creation of what comes in',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeCopy',
        find: "if (event.operation === 'rename') await this.#takeRenamedStranger(event, signal);",
        replace: '',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'into it is a creation, which drops a followed collection of the name',
          ),
        ],
      },
      {
        takesOut: 'the drop of the target',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'complete',
        find: "return { ...found, operation: 'rename', to, droppedUuid: followed.at(to.database, to.name)?.uuid ?? null };",
        replace: "return { ...found, operation: 'rename', to };",
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'over a followed collection drops that')],
      },
    ],
  },
  {
    number: 45,
    hazard: '`dropDatabase` under a collection filter',
    handling: "It is the drops of its collections, each by UUID; those that are not followed are nobody's.",
    sabotages: [
      {
        takesOut: 'the single drops',
        file: instance('ddl/apply-ddl-change.ts'),
        symbol: 'applyDdlChange',
        find: 'await dropRecorded(deps, database, uuid, signal);\n  return null;',
        replace: 'await deps.destination.router.command(database, { dropDatabase: 1 }, { signal });\n  return null;',
        tests: [
          instanceTest(
            'ddl/apply-ddl-change.test.ts',
            'takes the collection away that stands for the one of the source, and no other of the database',
          ),
        ],
      },
    ],
  },
  {
    number: 56,
    hazard: 'A replayed drop, after a crash of the leader, drops the collection made since',
    handling: 'Drops go by the recorded UUID of the destination.',
    sabotages: [
      {
        takesOut: 'the UUID',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'findByUuid',
        find: 'return listed.find((row) => row.uuid === uuid) ?? null;',
        replace: 'return listed.find((row) => row.uuid !== undefined) ?? null;',
        tests: [
          instanceTest(
            'ddl/apply-ddl-change.test.ts',
            'that is replayed leaves alone what was made under the name since',
          ),
        ],
      },
    ],
  },
  {
    number: 86,
    hazard: 'Servers move a collection to another shard under a new UUID, or tell of what this release does not know',
    handling:
      '`moveCollection` and `movePrimary` make a new collection in the place of the old, which is copied anew. What is not known is a reason to look at the catalog.',
    sabotages: [
      {
        takesOut: 'the provenance of a resharding',
        file: instance('ddl/ddl-stream.ts'),
        symbol: 'movedTo',
        find: "return operation === 'reshardCollection' && provenance === 'moveCollection' ? uuidHex(reshardUUID) || null : null;",
        replace: 'return provenance === operation ? uuidHex(reshardUUID) : null;',
        tests: [
          instanceTest('ddl/ddl-stream.test.ts', 'tells by its provenance whether a collection was only moved: %s'),
        ],
      },
      {
        takesOut: 'the new collection in the place of the old',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: 'if (movedTo !== null) {',
        replace: 'if (movedTo === operation) {',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'by moveCollection is on its way under its new UUID, however often that is shown: servers put it in its place before or after',
          ),
        ],
      },
      {
        takesOut: 'the look at the catalog for what is not known',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: '      this.#refuseNewShardKey(event);\n      this.deps.onTrigger();',
        replace: '      this.#refuseNewShardKey(event);',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'an event of the kind %s, which says nothing of documents, leads to a look at the catalog',
          ),
        ],
      },
    ],
  },
];
