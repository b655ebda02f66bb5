import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { type QuestionTopic, questionTopics, type StartQuestion } from '@convoy/api/fleet/start-question';
import { listSource } from '../../catalog/list-namespaces.js';
import { asUnavailable } from '../../cluster/connection-failure.js';
import { namedFailure } from '../../cluster/named-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { binaryVersion } from '../../cluster/topology.js';
import { writeBlockVersion } from '../../cluster/write-block.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { reportStart } from '../../preflight/check-start.js';
import { type PreflightItem, type PreflightReport, repeatUnanswered } from '../../preflight/examination.js';
import { type ClusterName, connectConfigured, connectSource, requireClusterName } from '../migration/clusters.js';
import type { Runtime } from '../migration/runtime.js';

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

/**
 * Checks whether a migration could start with these settings and options. It needs no running instance and changes
 * nothing. Clusters that cannot be reached or used are findings, one for each.
 * @param onInventory receives what both clusters have besides data, if they can be read
 * @throws ConvoyError `clusterUnknown`
 */
export async function preflight(
  config: InstanceConfig,
  request: StartRequest,
  signal: AbortSignal,
  onInventory?: (inventory: Inventory) => void,
): Promise<PreflightReport> {
  const sourceName = requireClusterName(request.source);
  const destinationName = requireClusterName(request.destination);
  const { syncUser, memoryBytesMax, partition_seconds } = config;
  const [source, destination] = await Promise.allSettled([
    openToCheck(config, sourceName, signal),
    connectConfigured(config, destinationName, 'router', signal),
  ]);
  try {
    if (source.status === 'rejected' || destination.status === 'rejected') {
      const items = [
        ...(source.status === 'rejected' ? [unusable('source', sourceName, source.reason)] : []),
        ...(destination.status === 'rejected' ? [unusable('destination', destinationName, destination.reason)] : []),
      ];
      return { canStart: false, items };
    }
    const { cluster, refused } = source.value;
    const input = {
      source: cluster,
      destination: destination.value,
      request,
      signal,
      memoryBytesMax,
      partition_seconds,
      openNextSource: () => connectSource(config, destinationName, config.sourceAccess, signal),
      ...(syncUser === undefined ? {} : { syncUser }),
      ...(onInventory === undefined ? {} : { onInventory }),
    };
    const report = await repeatUnanswered(() => reportStart(input), destinationName, signal);
    return refused === null ? report : withRefusal(report, refused);
  } finally {
    if (source.status === 'fulfilled') await source.value.cluster.close();
    if (destination.status === 'fulfilled') await destination.value.close();
  }
}

/**
 * Connects to the source as the configuration says. Shards that cannot be read directly are one finding: through the
 * router everything else is checked too.
 */
async function openToCheck(
  config: InstanceConfig,
  name: ClusterName,
  signal: AbortSignal,
): Promise<{ cluster: ClusterClient; refused: ConvoyError | null }> {
  try {
    return { cluster: await connectSource(config, name, config.sourceAccess, signal), refused: null };
  } catch (error) {
    if (!isConvoyError(error, 'shardsNotReachable')) throw error;
    return { cluster: await connectConfigured(config, name, 'router', signal), refused: error };
  }
}

/** The finding takes the place of what the check found through the router, unless that prevents a start too. */
function withRefusal({ items }: PreflightReport, refused: ConvoyError): PreflightReport {
  const others = items.filter(({ check, result }) => check !== 'clusters' || result === 'failed');
  return { canStart: false, items: [failed(refused), ...others] };
}

/** @throws the error itself if it says nothing about the cluster */
function unusable(role: 'source' | 'destination', name: ClusterName, thrown: unknown): PreflightItem {
  const error = asUnavailable(role, name, thrown);
  if (!(error instanceof ConvoyError)) throw error;
  return failed(error);
}

function failed({ error, errorDescription }: ConvoyError): PreflightItem {
  return { check: 'clusters', result: 'failed', error, description: errorDescription };
}
