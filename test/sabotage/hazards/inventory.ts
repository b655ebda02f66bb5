import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const carryTest = 'lifecycle/leader/carry.test.ts';
const carrySource = instance('lifecycle/leader/carry.ts');

/** What a cluster has besides data: what a commit takes along of it, and what it says of the rest. */
export const inventoryHazards: readonly Hazard[] = [
  {
    number: 203,
    hazard:
      'A leader ends in the middle of what the commit takes along, and the source is gone for good: a part is ' +
      'missing, or made twice',
    handling:
      'Everything is written into a journal before any of it is made, but for credentials. A later leader makes what ' +
      'is not settled there. Users, whom the journal does not have, are made before the decision to open.',
    sabotages: [
      {
        takesOut: 'the journal',
        file: carrySource,
        symbol: 'planCarry',
        find: 'await new CarryJournal(metadata).write(leaderEpoch, items.map(journalled), signal)',
        replace: 'await new CarryJournal(metadata).write(leaderEpoch, items.slice(0, 0).map(journalled), signal)',
        tests: [
          instanceTest(carryTest, 'is in the journal before any of it is made, without credentials'),
          integrationTest(
            'inventory/carried-again.test.ts',
            'a leader that ends after the step %s leaves nothing out, and nothing twice',
          ),
        ],
      },
      {
        takesOut: 'the state of an item',
        file: carrySource,
        symbol: 'carryEach',
        find: "isMeant(item) && item.state === 'planned'",
        replace: 'isMeant(item)',
        tests: [
          instanceTest(
            carryTest,
            'is made from the journal by a later leader, although the source is gone, and nothing of it twice',
          ),
        ],
      },
      {
        takesOut: 'the omission of credentials',
        file: carrySource,
        symbol: 'journalled',
        find: "content: payload?.type === 'user' ? null : payload",
        replace: 'content: payload',
        tests: [instanceTest(carryTest, 'is in the journal before any of it is made, without credentials')],
      },
    ],
  },
  {
    number: 204,
    hazard: 'A user is made before its roles, a role before those that it inherits: the server refuses it',
    handling: 'Roles come first, each after those that it inherits, then users. Everything else follows the decision.',
    sabotages: [
      {
        takesOut: 'roles before users',
        file: carrySource,
        symbol: 'carryEach',
        find:
          'for (const item of planned) if (!isUser(item)) await carry(item); ' +
          'await mapBounded(planned.filter(isUser), usersParallel, carry);',
        replace:
          'await mapBounded(planned.filter(isUser), usersParallel, carry); ' +
          'for (const item of planned) if (!isUser(item)) await carry(item);',
        tests: [instanceTest(carryTest, 'is roles, then users, and after the decision everything else')],
      },
      {
        takesOut: 'inherited roles first',
        file: instance('inventory/compare-inventories.ts'),
        symbol: 'itemsToCarry',
        find: "...inInheritedOrder(items.filter(({ kind }) => kind === 'roles'))",
        replace: "...items.filter(({ kind }) => kind === 'roles' || inInheritedOrder([]).length > 0)",
        tests: [
          instanceTest(
            'inventory/compare-inventories.test.ts',
            'begins with roles, each after those that it inherits, and has zones before ranges',
          ),
        ],
      },
      {
        takesOut: 'settings after the decision',
        file: carrySource,
        symbol: 'carryAccess',
        find: '({ kind }) => accessKinds.has(kind)',
        replace: '({ kind }) => kind.length > 0',
        tests: [instanceTest(carryTest, 'is roles, then users, and after the decision everything else')],
      },
    ],
  },
  {
    number: 205,
    hazard: 'The user with which Convoy logs in arrives on the other cluster, with all that it may do',
    handling: 'The users of both connection strings are no items of the inventory: none is carried, nor listed.',
    sabotages: [
      {
        takesOut: 'the omission of own users',
        file: instance('inventory/compare-inventories.ts'),
        symbol: 'compareInventories',
        find: 'items.filter((item) => !isOwnLogin(item, logins))',
        replace: 'items.filter((item) => !isOwnLogin(item, logins.slice(0, 0)))',
        tests: [
          instanceTest('inventory/compare-inventories.test.ts', "neither cluster's login of Convoy is an item"),
          integrationTest(
            'inventory/own-users.test.ts',
            'sharded clusters keep the users of Convoy to themselves, and a user that differs is named',
          ),
        ],
      },
    ],
  },
  {
    number: 206,
    hazard:
      'The time at which consumers of change streams begin on the destination is above the first write of a user, ' +
      'which none of them sees',
    handling:
      'The time is taken after the decision to open and before the destination takes writes, and recorded once: a ' +
      'later leader keeps it.',
    sabotages: [
      {
        takesOut: 'the place before the opening',
        file: instance('lifecycle/leader/commit.ts'),
        symbol: 'commit',
        find:
          "await storeOpening(deps, signal); stepDone('openingTimeStored'); await carrySettings(deps, signal); " +
          "stepDone('settingsCarried'); await keepSourceClosed(deps, signal); " +
          "await applyWriteBlock(deps, 'destination', signal);",
        replace:
          "await carrySettings(deps, signal); stepDone('settingsCarried'); await keepSourceClosed(deps, signal); " +
          "await applyWriteBlock(deps, 'destination', signal); await storeOpening(deps, signal); " +
          "stepDone('openingTimeStored');",
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'takes the time for consumers of change streams before the destination lets users write',
          ),
        ],
      },
      {
        takesOut: 'the time that an earlier leader has recorded',
        file: instance('lifecycle/leader/commit.ts'),
        symbol: 'storeOpening',
        find: 'if (handOver && (!reversal || reversal.openedAt !== null)) return;',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'records the times for consumers of change streams once, before the destination takes writes',
          ),
        ],
      },
    ],
  },
  {
    number: 207,
    hazard:
      'A commit begins before anybody has looked at what it leaves behind, or an election during a look counts as ' +
      'a missing privilege: users, zones or settings stay behind without a word',
    handling:
      'In each direction no commit is offered before the first look. A failure that passes is no missing privilege: ' +
      'the look fails and is repeated, and the commit reads again.',
    sabotages: [
      {
        takesOut: 'the offer that waits',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingDefinitions',
        find: "return record.inventoryLook === 'pending' ? [lookAwaited] : [];",
        replace: "return record.inventoryLook === 'pending' ? [lookAwaited].slice(1) : [];",
        tests: [
          instanceTest(
            'lifecycle/instance/commit-offer.test.ts',
            'the first look at what would be left behind blocks a commit until it is made or has failed',
          ),
        ],
      },
      {
        takesOut: 'the look of a reverse',
        file: instance('lifecycle/leader/initialise.ts'),
        symbol: 'beginReverse',
        find: "{ phase: 'syncing', inventoryLook: 'pending' }",
        replace: "{ phase: 'syncing' }",
        tests: [
          integrationTest(
            'inventory/first-look.test.ts',
            'a reverse is offered no commit before the first look, which names what it leaves behind',
          ),
        ],
      },
      {
        takesOut: 'failures that pass',
        file: instance('inventory/take-inventory.ts'),
        symbol: 'reasonOf',
        find: 'if (code === null || passingKinds.has(classify(error))) throw error;',
        replace: "if (code === null || (passingKinds.has('') && classify(error) === 'retryable')) throw error;",
        tests: [instanceTest(carryTest, 'is read again after an election, which is no missing privilege')],
      },
    ],
  },
];
