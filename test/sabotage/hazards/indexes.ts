import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Indexes that servers refuse, or that only some shards have. */
export const indexHazards: readonly Hazard[] = [
  {
    number: 121,
    hazard:
      'An index is skipped that a shard key needs, or whose build only failed for a moment; one that some shards ' +
      'have built looks complete',
    handling:
      'Only what a server itself refuses is skipped, and no index that a shard key needs: neither by a failed build ' +
      'nor by a record. A failed build is taken back on all shards. An index that only some shards of the ' +
      'destination have is built on the others, or dropped where it is not wanted. Servers do not drop the last ' +
      'index that supports a shard key: another one supports it while Convoy replaces that.',
    sabotages: [
      {
        takesOut: 'the index that supports a shard key while its own one is replaced',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'dropInTheWay',
        find: '!supportsKey(plan, kept) ? [substituteOf(plan)] : []',
        replace: '!supportsKey(plan, kept) ? [] : []',
        tests: [
          instanceTest('catalog/reconcile-indexes.test.ts', 'a sharded collection %s'),
          integrationTest(
            'ddl/shard-key-index.test.ts',
            'the only index of a shard key is replaced where the destination refuses to drop it',
          ),
        ],
      },
      {
        takesOut: 'the indexes that only some shards of the destination have',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'reconcileIndexes',
        find: '(found.inconsistentIndexes ?? [])',
        replace: '(found.inconsistentIndexes ?? []).slice(0, 0)',
        tests: [instanceTest('catalog/reconcile-indexes.test.ts', 'an index of some shards %s')],
      },
      {
        takesOut: 'them in the comparison of definitions',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'compareIndexes',
        find: '...(found.inconsistentIndexes ?? []).map(({ index }) => index)',
        replace: '...(found.inconsistentIndexes ?? []).slice(0, 0).map(({ index }) => index)',
        tests: [
          instanceTest(
            'catalog/compare-catalogs.test.ts',
            'finds an index that only some shards of the destination have, wanted or not',
          ),
        ],
      },
      {
        takesOut: 'the shards that lack an index which another one has',
        file: instance('catalog/read-indexes.ts'),
        symbol: 'every',
        find: 'return this.perShard.every((list)',
        replace: 'return this.perShard.some((list)',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'what one shard could not build during an election is built there by the next attempt (%s)',
          ),
          instanceTest(
            'catalog/index-attributes.test.ts',
            'what one shard refused is done there by the next attempt (%s, %j)',
          ),
        ],
      },
      {
        takesOut: 'the care for the index of a shard key',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'createIndexes',
        find: 'skip === undefined || index === needed',
        replace: 'skip === undefined || (index === needed && index !== needed)',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'what cannot be built is refused by name without the choice, and where a shard key needs it',
          ),
        ],
      },
      {
        takesOut: 'the care for it in the plan',
        file: instance('catalog/index-plan.ts'),
        symbol: 'planIndexes',
        find: 'index === supporting ? undefined : skipOf(deps.skipped, entry.uuid, index)?.outcome',
        replace: 'skipOf(deps.skipped, entry.uuid, index)?.outcome',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'another definition under a skipped name is tried anew, and a record skips no needed index',
          ),
        ],
      },
      {
        takesOut: 'the distinction of failures that may pass',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'isRefusal',
        find: "return ['fatal', 'duplicateKey'].includes(classify(failure));",
        replace: "return classify(failure) !== 'staleEpoch';",
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'a failure that may pass, or is not about the index, skips nothing (%i)',
          ),
        ],
      },
      {
        takesOut: 'the care for documents that are outdated',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'createIndexes',
        find: 'mayPass?.(plan, index) === true',
        replace: 'mayPass?.(plan, index) === null',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'a document that may be outdated refuses no index for good (%i)',
          ),
        ],
      },
      {
        takesOut: 'the drop of what some shards have built',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'createIndexes',
        find: 'await dropIndex(building, plan.entry, index.name as string);',
        replace: '',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'what cannot be built is skipped and stands on no shard, if the user has chosen so; others are built',
          ),
        ],
      },
      {
        takesOut: 'the drop of what some shards have made unique',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'makeUnique',
        find: 'if (!standsEverywhere) await dropIndex(restoring, plan.entry, name);',
        replace: '',
        tests: [
          instanceTest(
            'catalog/index-attributes.test.ts',
            'what one shard made unique is taken back if another one could not, if users see those of one',
          ),
        ],
      },
    ],
  },
  {
    number: 127,
    hazard:
      'A collection has 64 indexes, as many as servers allow. No unique index can be built beside the plain one that ' +
      'stands in for it, and no new one before the old one is dropped. The commit fails',
    handling:
      'Where a collection has no room for one more index, the one that goes is dropped first. The substitute of the ' +
      'only index of a shard key takes the room of another one, which is built again.',
    sabotages: [
      {
        takesOut: 'the room of the index that supports a shard key meanwhile',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'dropInTheWay',
        find: 'if (isFull && !isPresent) await dropEach(building, found, kept.slice(0, 1));',
        replace: 'if (isFull && !isPresent) await dropEach(building, found, []);',
        tests: [
          instanceTest('catalog/reconcile-indexes.test.ts', 'a sharded collection %s'),
          integrationTest(
            'ddl/full-collections.test.ts',
            'the only index of a shard key is replaced in a collection without room: %s to %s',
          ),
        ],
      },
      {
        takesOut: 'the drop of the plain index before the unique one is built',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'isDroppedFirst',
        find: "(conversion === 'beside' && present.size >= indexesMax);",
        replace: "(conversion === 'beside' && present.size > indexesMax);",
        tests: [
          instanceTest(
            'catalog/create-collections.test.ts',
            'converts unique indexes of a collection with as many as it can have, on %i',
          ),
          integrationTest(
            'ddl/full-collections.test.ts',
            'a collection with as many indexes as it can have gets all attributes at the commit: %s',
          ),
        ],
      },
      {
        takesOut: 'the drop of old indexes before new ones are built',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'reconcileIndexes',
        find: 'const isFull = present.length + inconsistent.length + missing.length >= indexesMax;',
        replace: 'const isFull = present.length + missing.length > 2 * indexesMax;',
        tests: [instanceTest('catalog/reconcile-indexes.test.ts', 'indexes: %s')],
      },
    ],
  },
  {
    number: 181,
    hazard:
      'Servers list an index that they are still building like a finished one. A commit takes it for built after its ' +
      'leader, the primary or a connection is gone: the destination opens without it, and may never get it',
    handling:
      'Builds under way are read as such and are no indexes. The leader waits for them, on either cluster, and names ' +
      'them in a warning. No commit is offered meanwhile. Other changes of the collection wait too, which servers ' +
      'refuse.',
    sabotages: [
      {
        takesOut: 'the distinction of builds',
        file: instance('catalog/catalog-bytes.ts'),
        symbol: 'decodeListedIndex',
        find: "const building = spec !== null && findElement(bytes, 'buildUUID') !== null;",
        replace: 'const building = spec !== null && bytes.length < 0;',
        tests: [
          instanceTest(
            'catalog/read-catalog.test.ts',
            'are none of those that a shard is still building, which no shard is taken to have',
          ),
          integrationTest(
            'ddl/unfinished-indexes.test.ts',
            'keeps a commit from being offered, also once the instance and the primary that began it are gone',
          ),
        ],
      },
      {
        takesOut: 'the wait for a build that somebody else has begun',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'settledIndexes',
        find: 'if (unfinished().length === 0) return present;',
        replace: 'if (unfinished().length >= 0) return present;',
        tests: [instanceTest('catalog/build-indexes.test.ts', 'are waited for, and are built only if that fails')],
      },
      {
        takesOut: 'the wait of other changes',
        file: instance('catalog/index-builds.ts'),
        symbol: 'betweenBuilds',
        find: 'if ((await buildingNow()).length === 0) throw failure;',
        replace: 'throw failure;',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'let other changes of the collection wait, which servers refuse meanwhile',
          ),
        ],
      },
      {
        takesOut: 'the offer that waits',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingDefinitions',
        find: 'if (hasWarning(record, buildsWarning)) return [buildsAwaited];',
        replace: '',
        tests: [
          instanceTest('lifecycle/instance/commit-offer.test.ts', 'an index that is being built blocks a commit'),
        ],
      },
    ],
  },
  {
    number: 182,
    hazard:
      'A member of the destination is away. Index builds wait for all voting members by default: no commit is ' +
      'offered, or one that has begun waits with the writers stopped, and nothing says why',
    handling:
      'Builds need a majority, as writes do. What lasts is a warning in every phase, which names the build and the ' +
      'members that do not answer.',
    sabotages: [
      {
        takesOut: 'the quorum',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'sendCreateIndexes',
        find: 'await send(majorityQuorum);',
        replace: 'await send({});',
        tests: [
          instanceTest(
            'catalog/build-indexes.test.ts',
            'need a majority of the voting members, or what the server takes',
          ),
        ],
      },
      {
        takesOut: 'the members that do not answer',
        file: instance('cluster/topology.ts'),
        symbol: 'awayFromPrimary',
        find: '.filter(({ health }) => health === 0)',
        replace: '.filter(({ health }) => health < 0)',
        tests: [
          instanceTest(
            'lifecycle/leader/builds.test.ts',
            'a build that lasts is named with the members that do not answer while the leader works (%s)',
          ),
        ],
      },
    ],
  },
  {
    number: 183,
    hazard:
      'The source is still building an index at the commit, for example a unique one over documents with the same ' +
      'key. The destination could never have it, and the commit waits for documents that nobody can remove',
    handling: 'A commit waits until the source has built the index, has failed to, or has dropped it, and names it.',
    sabotages: [
      {
        takesOut: 'the wait',
        file: instance('lifecycle/leader/builds.ts'),
        symbol: 'untilSourceHasBuilt',
        find: 'while (builds.isSourceBuilding) {',
        replace: 'while (!builds.isSourceBuilding) {',
        tests: [
          instanceTest(
            'lifecycle/leader/builds.test.ts',
            'a commit waits until the source has built an index, or given it up',
          ),
        ],
      },
      {
        takesOut: 'the round that does not count',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drainRounds',
        find: 'if (deps.builds.isSourceBuilding) {',
        replace: 'if (deps.builds.isSourceBuilding && drainedRounds < 0) {',
        tests: [
          integrationTest(
            'ddl/commit-held-by-build.test.ts',
            'an index that the source is still building holds a commit that has begun, by its name, until %s',
          ),
        ],
      },
    ],
  },
  {
    number: 151,
    hazard:
      'Servers from 6.0 on keep the last index of a shard key, and later ones its visibility: the engine drops or ' +
      'hides it, and the migration ends',
    handling:
      'What the destination refuses to drop for its own shard key stays a difference, and no commit is offered ' +
      'before it is gone. The only index of a shard key that is hidden on the source stays visible on a destination ' +
      'of 8.0, with a warning.',
    sabotages: [
      {
        takesOut: 'the index that the destination keeps',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'dropEach',
        find: 'if (refusals.length > 0) throw refusals[0];',
        replace: '',
        tests: [
          instanceTest(
            'catalog/reconcile-indexes.test.ts',
            'an index that the destination refuses to drop for its shard key is a difference, and the others go',
          ),
        ],
      },
      {
        takesOut: 'the visibility of the only index of a shard key',
        file: instance('catalog/index-plan.ts'),
        symbol: 'planIndexes',
        find: "finals[finals.indexOf(seen)] = withoutFields(seen, 'hidden');",
        replace: '',
        tests: [
          instanceTest('catalog/index-plan.test.ts', '%s'),
          integrationTest(
            'ddl/shard-key-index.test.ts',
            'the only index of a shard key stays visible where the destination refuses to hide it',
          ),
        ],
      },
      {
        takesOut: 'the refusal to hide an index at the commit',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'changeInPlace',
        find: 'const staysVisible = change.hidden === true && plan.sharding !== null;',
        replace: 'const staysVisible = false;',
        tests: [
          instanceTest(
            'catalog/index-attributes.test.ts',
            'an index that the shard key needs stays visible where the server insists; no other refusal passes',
          ),
        ],
      },
    ],
  },
  {
    number: 152,
    hazard:
      'A shard has lost the plain index that becomes unique in place at the commit: no unique one can be built there ' +
      'beside the plain ones of other shards, and the commit fails',
    handling: 'The plain one is built where it is missing; then all of them become unique.',
    sabotages: [
      {
        takesOut: 'the plain index of the shard that has lost it',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'makeUnique',
        find: "restoring.conversion === 'inPlace' && present.some(name)",
        replace: "restoring.conversion === 'beside' && present.some(name)",
        tests: [
          instanceTest(
            'catalog/index-attributes.test.ts',
            'an index that one shard has lost is built there and made unique on all: beside %s',
          ),
          integrationTest(
            'ddl/indexes-of-one-shard.test.ts',
            'a unique index is restored at the commit although one shard has lost the plain one',
          ),
        ],
      },
    ],
  },
];
