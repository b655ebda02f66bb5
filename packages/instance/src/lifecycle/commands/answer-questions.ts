import type { Fleet } from '@convoy/api/fleet/fleet';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { Inventory } from '@convoy/api/contract/inventory';
import { questionTopics, type QuestionTopic, type StartQuestion } from '@convoy/api/fleet/start-question';
import { namedFailure } from '../../cluster/named-failure.js';
import { listSource } from '../../catalog/read/list-source.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { binaryVersion } from '../../cluster/topology.js';
import { writeBlockVersion } from '../../cluster/write-block.js';
import { connectConfigured, requireClusterName } from '../migration/clusters.js';
import type { Runtime } from '../migration/runtime.js';
import { preflight } from './preflight.js';

/** Interval of looking for a question: a user waits for the answer. */
const look_ms = 1_000;
/** Redis loses answers: one is published again while its question stands. */
const republish_ms = 30_000;

type Answer<Topic extends QuestionTopic> = Omit<PublishedDetails[Topic], 'questionId' | 'at_ms' | 'failure'>;

/** Finds the answer to a question of a topic, and what stands for it after a failure. */
interface Answering<Topic extends QuestionTopic> {
  readonly find: (asked: Asked, question: StartQuestion, signal: AbortSignal) => Promise<Answer<Topic>>;
  readonly nothing: Answer<Topic>;
  /** Whether the question makes sense only as long as no migration is recorded. */
  readonly beforeStart: boolean;
}

/** The instance that answers. */
export interface AskedInstance {
  /** Whether it has no migration. */
  isIdle: () => boolean;
  inventory: (request: StartQuestion['request']) => Promise<Inventory>;
}

interface Asked extends AskedInstance {
  readonly runtime: Runtime;
}

const answerings: { readonly [Topic in QuestionTopic]: Answering<Topic> } = {
  sourceListing: { find: listClusters, nothing: { clusters: null, rows: [], unlisted: 0 }, beforeStart: true },
  startCheck: { find: check, nothing: { report: null }, beforeStart: true },
  inventory: { find: takeInventory, nothing: { inventory: null }, beforeStart: false },
};

/**
 * Answers coordinators' questions on the leader, until the signal: those before a start while it is idle. It changes
 * nothing on either cluster. Each topic has one question at a time.
 */
export async function answerQuestions(
  runtime: Runtime,
  fleet: Fleet,
  instance: AskedInstance,
  signal: AbortSignal,
): Promise<void> {
  await Promise.allSettled(questionTopics.map(answer));

  async function answer(topic: QuestionTopic): Promise<void> {
    let last: PublishedDetails[QuestionTopic] | null = null;
    let answeredId = '';
    let publishedAt_ms = -Infinity;
    while (!signal.aborted) {
      const isAsked = fleet.isLeader() && (instance.isIdle() || !answerings[topic].beforeStart);
      const question = isAsked ? await read(fleet, topic) : null;
      const isNew = question !== null && question.id !== answeredId;
      if (isNew) {
        last = await answerTo(topic, { runtime, ...instance }, question, signal);
        answeredId = question.id;
      }
      const isDue = runtime.clock.monotonic_ms() - publishedAt_ms >= republish_ms;
      if (question !== null && last !== null && (isNew || isDue)) {
        fleet.publishDetails(topic, last);
        publishedAt_ms = runtime.clock.monotonic_ms();
      }
      await runtime.clock.sleep(look_ms, signal);
    }
  }
}

/** Redis may be away for a while; the question is read again. */
async function read(fleet: Fleet, topic: QuestionTopic): Promise<StartQuestion | null> {
  return (await fleet.question?.(topic).catch(() => null)) ?? null;
}

async function answerTo<Topic extends QuestionTopic>(
  topic: Topic,
  asked: Asked,
  question: StartQuestion,
  signal: AbortSignal,
): Promise<PublishedDetails[Topic]> {
  const { find, nothing } = answerings[topic];
  const given = (failure: PublishedDetails[Topic]['failure'], answer: Answer<Topic>): PublishedDetails[Topic] =>
    ({ questionId: question.id, at_ms: asked.runtime.clock.now_ms(), failure, ...answer }) as PublishedDetails[Topic];
  try {
    return given(null, await find(asked, question, signal));
  } catch (thrown) {
    const { error, errorDescription } = namedFailure(thrown);
    return given({ error, errorDescription }, nothing);
  }
}

async function check(
  { runtime: { config, clock } }: Asked,
  { request }: StartQuestion,
  signal: AbortSignal,
): Promise<Answer<'startCheck'>> {
  return { report: { at_ms: clock.now_ms(), ...(await preflight(config, request, signal)) } };
}

async function takeInventory({ inventory }: Asked, { request }: StartQuestion): Promise<Answer<'inventory'>> {
  return { inventory: await inventory(request) };
}

async function listClusters(
  { runtime: { config } }: Asked,
  { request }: StartQuestion,
  signal: AbortSignal,
): Promise<Answer<'sourceListing'>> {
  const source = await connectConfigured(config, requireClusterName(request.source), 'router', signal);
  try {
    const clusters = { source: factsOf(source), destination: await readFacts(config, request.destination, signal) };
    return { clusters, ...(await listSource(source.router, signal)) };
  } finally {
    await source.close();
  }
}

async function readFacts(config: Runtime['config'], name: string, signal: AbortSignal): Promise<Facts> {
  const cluster = await connectConfigured(config, requireClusterName(name), 'router', signal);
  try {
    return factsOf(cluster);
  } finally {
    await cluster.close();
  }
}

type Facts = NonNullable<PublishedDetails['sourceListing']['clusters']>['source'];

function factsOf(cluster: ClusterClient): Facts {
  const version = binaryVersion(cluster);
  return {
    name: cluster.name,
    kind: cluster.kind,
    shards: cluster.shardIds.length,
    version: version.join('.'),
    blocksWrites: version[0] >= writeBlockVersion,
  };
}
