import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What is waited for: nodes and connections that never answer. */
export const waitHazards: readonly Hazard[] = [
  {
    number: 190,
    hazard:
      'The primary of a shard behind a router is frozen, or its network is: a stream that the router has opened ' +
      'before returns nothing for ever, though another member leads. A commit stands with the writers stopped, and ' +
      'nothing says why',
    handling:
      'A stream whose time stands still while that of its cluster goes on is named after 12 s and opened anew after ' +
      '20 s, where it continues. Each opening in vain doubles that time, for servers that read long, and for idle ' +
      'shards without no-ops; a stream that is far behind has longer from the first.',
    sabotages: [
      {
        takesOut: 'the new cursor of tasks and verifiers',
        file: instance('cluster/change-stream.ts'),
        symbol: 'next',
        find: 'if (this.#watch.answered(batch)) await this.#cursor.close();',
        replace: 'this.#watch.answered(batch);',
        tests: [
          instanceTest(
            'apply/change-stream-reader.test.ts',
            'is opened anew where it continues when it stands still beside its cluster, and is named before',
          ),
          instanceTest(
            'verify/embedded/side-follower.test.ts',
            'is opened anew at its position when it stands still while its cluster goes on, and is named',
          ),
        ],
      },
      {
        takesOut: 'the new cursors of the DDL watcher',
        file: instance('ddl/ddl-watcher.ts'),
        symbol: 'read',
        find: 'if (this.#standsStill) await this.#closeParts();',
        replace: '',
        tests: [
          instanceTest(
            'ddl/ddl-watcher.test.ts',
            'is opened anew at the watermark when it stands still while its cluster goes on, and is named',
          ),
        ],
      },
      {
        takesOut: 'the idle cluster',
        file: instance('cluster/change-stream.ts'),
        symbol: 'answered',
        find: ' || behind < behind_seconds) {',
        replace: ' || behind < -behind_seconds) {',
        tests: [
          instanceTest(
            'cluster/change-stream.test.ts',
            'of an idle cluster is left alone, and so is one that is shown something now and then',
          ),
        ],
      },
      {
        takesOut: 'the doubled time',
        file: instance('cluster/change-stream.ts'),
        symbol: 'answered',
        find: 'this.#limit_ms *= 2;',
        replace: 'this.#limit_ms *= 1;',
        tests: [instanceTest('cluster/change-stream.test.ts', 'that is in vain opened anew is so less and less often')],
      },
    ],
  },
  {
    number: 191,
    hazard:
      'A call gets no answer: a router has sent it to a member that froze, or a firewall has cut its connection ' +
      'without a word. Whatever needs it waits for as long',
    handling:
      'Every call has a limit of 20 s beyond the time that it gives the server, and is repeated through another ' +
      'connection. Each time doubles the limit of its kind, so that a slow server finishes its work. Before an ' +
      'index build is given up, Convoy looks whether the index is being built.',
    sabotages: [
      {
        takesOut: 'the limit',
        file: instance('cluster/calls-in-flight.ts'),
        symbol: 'limit',
        find: 'options.answerMax_ms ?? this.limits.limit_ms(kind);',
        replace: 'options.answerMax_ms ?? (kind === this.label ? this.limits.limit_ms(kind) : Infinity);',
        tests: [
          instanceTest('cluster/calls-in-flight.test.ts', 'end when no answer comes, %s'),
          instanceTest('cluster/calls-in-flight.test.ts', 'end if no answer has arrived well after their own limit'),
        ],
      },
      {
        takesOut: 'the doubled limit',
        file: instance('cluster/calls-in-flight.ts'),
        symbol: 'limit',
        find: 'this.limits.exceeded(kind, silent_ms);',
        replace: '',
        tests: [
          instanceTest(
            'cluster/calls-in-flight.test.ts',
            'that are repeated may take longer each time, and those that are looked after as long as they do',
          ),
        ],
      },
      {
        takesOut: 'the look at index builds',
        file: instance('catalog/index-builds.ts'),
        symbol: 'watchedBuild',
        find: '(await isBuilding(over).catch(() => true))',
        replace: '(await isBuilding(over).catch(() => true)) === over.aborted',
        tests: [instanceTest('catalog/index-builds.test.ts', 'is waited for while it builds, or while nobody can say')],
      },
    ],
  },
  {
    number: 192,
    hazard: 'Nothing names a node that does not answer; a warning blames capacity for the lag instead',
    handling:
      'A warning names after 5 s the clients and their calls, and streams that stand still; soon also the members ' +
      'that the router or the primary does not reach. Meanwhile no warning blames the lag on capacity.',
    sabotages: [
      {
        takesOut: 'the calls without an answer',
        file: instance('cluster/calls-in-flight.ts'),
        symbol: 'silent',
        find: 'if (now_ms - began_ms >= expected_ms) yield',
        replace: 'if (now_ms < began_ms + Math.min(expected_ms, 0)) yield',
        tests: [instanceTest('cluster/calls-in-flight.test.ts', 'are shown once they have had no answer for 5 s')],
      },
      {
        takesOut: 'the members that a router does not reach',
        file: instance('cluster/topology.ts'),
        symbol: 'awayFromRouter',
        find: 'hosts.filter(({ ok, hidden }) => !ok && !hidden)',
        replace: 'hosts.filter(({ ok, hidden }) => !ok && hidden)',
        tests: [
          instanceTest(
            'cluster/topology.test.ts',
            'are those of all shards that the router does not reach, without arbiters',
          ),
        ],
      },
      {
        takesOut: 'the silence of the other warning',
        file: instance('lifecycle/instance/lag.ts'),
        symbol: 'standingWarning',
        find: '!isAwaitingSource &&',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/instance/lag.test.ts',
            'blames no lack of capacity for a lag while the source does not answer',
          ),
        ],
      },
    ],
  },
  {
    number: 193,
    hazard:
      'With `readPreference`, reads stay on a member that gets nothing from its primary, though others are up to ' +
      'date; if there is no other, the lag has no name',
    handling:
      'A member that is more than 30 s behind its set is left out when a cursor is opened, if there is another one, ' +
      'and named in a warning otherwise. A stream on it stands still, and is opened anew.',
    sabotages: [
      {
        takesOut: 'the other member',
        file: instance('cluster/driver/clients.ts'),
        symbol: 'choose',
        find: 'if (choices < choicesMax && isBehind(',
        replace: 'if (choices < 0 && isBehind(',
        tests: [
          instanceTest(
            'cluster/driver/clients.test.ts',
            'leave out a member that is far behind while there is another one',
          ),
        ],
      },
      {
        takesOut: 'the name',
        file: instance('cluster/driver/driver-cursor.ts'),
        symbol: 'send',
        find: 'home.heard?.(reply.operationTime,',
        replace: 'home.heard?.(undefined,',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'a member that is far behind its primary is named for as long as it is',
          ),
        ],
      },
    ],
  },
  {
    number: 194,
    hazard:
      'The source begins to build an index between two comparisons of the catalogs, and no event shows it: a commit ' +
      'is offered, and waits for the build with the writers stopped. Or it gives the build up, and none is offered',
    handling: 'The leader asks the primaries of the source every 2 s for builds that run, and compares soon.',
    sabotages: [
      {
        takesOut: 'the comparison',
        file: instance('lifecycle/leader/builds.ts'),
        symbol: 'watchForBuilds',
        find: 'if (now.size !== known.size || own.some((id) => !known.has(id))) onChanged();',
        replace: 'void onChanged;',
        tests: [
          instanceTest(
            'lifecycle/leader/builds-watch-for-builds.test.ts',
            'a build of a migrated collection is noticed when it begins and when it ends',
          ),
          integrationTest(
            'ddl/unfinished-indexes.test.ts',
            'keeps a commit from being offered, however rarely the catalogs are compared',
          ),
        ],
      },
      {
        takesOut: 'the threads that have nothing to do',
        file: instance('cluster/current-operations.ts'),
        symbol: 'runningBuilds',
        find: 'if (dot <= 0) return [];',
        replace: '',
        tests: [
          instanceTest(
            'cluster/current-operations.test.ts',
            'builds are told apart by shard, operation and collection, whose name may have dots',
          ),
        ],
      },
      {
        takesOut: 'the primaries, with a read preference',
        file: instance('cluster/current-operations.ts'),
        symbol: 'runningBuilds',
        find: '{ ...options, primary: true }',
        replace: 'options',
        tests: [
          instanceTest(
            'cluster/current-operations.test.ts',
            'builds of primaries count, whatever members are read otherwise',
          ),
        ],
      },
    ],
  },
  {
    number: 195,
    hazard: 'A member that gives no answer ends `convoy check` with an internal error',
    handling: 'A check is repeated, as it changes nothing, and then names the call that is not answered.',
    sabotages: [
      {
        takesOut: 'the repetition',
        file: instance('preflight/examination.ts'),
        symbol: 'repeatUnanswered',
        find: 'if (attempt >= attemptsMax) throw',
        replace: 'if (attempt <= attemptsMax) throw',
        tests: [
          instanceTest(
            'preflight/examination.test.ts',
            'a check is repeated where a node gives no answer, or an election is under way',
          ),
        ],
      },
      {
        takesOut: 'the name',
        file: instance('preflight/examination.ts'),
        symbol: 'unansweredBy',
        find: "from.startsWith(destination) ? 'destinationUnavailable'",
        replace: "from.startsWith(destination) ? 'sourceUnavailable'",
        tests: [
          instanceTest(
            'preflight/examination.test.ts',
            'a check that %s leaves without an answer again and again ends by name: %s',
          ),
        ],
      },
    ],
  },
];
