import { Double, Int32, Long, ObjectId, Timestamp } from 'bson';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import { opTime, setVersion, wallTime } from './hello.js';
import type { NodeIdentity } from './node-identity.js';

const heartbeatMs = 2000;
const electionTimeoutMs = 10_000;
const primaryState = 1;
const secondaryState = 2;

/** `replSetGetStatus` of a set with this one member. */
export function replicaSetStatus(identity: NodeIdentity, applied: Timestamp): Doc {
  const wall = wallTime(applied);
  return doc(
    ['set', identity.setName],
    ['date', new DateTime(BigInt(Date.now()))],
    ['myState', new Int32(stateOf(identity))],
    ['term', identity.role.term],
    ['syncSourceHost', ''],
    ['syncSourceId', new Int32(-1)],
    ['heartbeatIntervalMillis', Long.fromInt(heartbeatMs)],
    ['majorityVoteCount', new Int32(1)],
    ['writeMajorityCount', new Int32(1)],
    ['votingMembersCount', new Int32(1)],
    ['writableVotingMembersCount', new Int32(1)],
    [
      'optimes',
      doc(
        ['lastCommittedOpTime', opTime(applied)],
        ['lastCommittedWallTime', wall],
        ['readConcernMajorityOpTime', opTime(applied)],
        ['appliedOpTime', opTime(applied)],
        ['durableOpTime', opTime(applied)],
        ...written(identity, 'writtenOpTime', opTime(applied)),
        ['lastAppliedWallTime', wall],
        ['lastDurableWallTime', wall],
        ...written(identity, 'lastWrittenWallTime', wall),
      ),
    ],
    ['lastStableRecoveryTimestamp', applied],
    ['electionCandidateMetrics', electionMetrics(identity)],
    ['members', [member(identity, applied)]],
  );
}

/** Since 8.0 oplog entries are written before they are applied. */
function written({ version }: NodeIdentity, name: string, value: Value): [string, Value][] {
  return version.atLeast(8, 0) ? [[name, value]] : [];
}

function stateOf(identity: NodeIdentity): number {
  return identity.role.primary ? primaryState : secondaryState;
}

function electionMetrics(identity: NodeIdentity): Doc {
  const started = new DateTime(BigInt(identity.startedMs));
  const first = doc(['ts', new Timestamp({ t: Math.floor(identity.startedMs / 1000), i: 1 })], ['t', Long.fromInt(-1)]);
  return doc(
    ['lastElectionReason', 'electionTimeout'],
    ['lastElectionDate', started],
    ['electionTerm', identity.role.term],
    ['lastCommittedOpTimeAtElection', first],
    ...written(identity, 'lastSeenWrittenOpTimeAtElection', first),
    ['lastSeenOpTimeAtElection', first],
    ['numVotesNeeded', new Int32(1)],
    ['priorityAtElection', new Double(1)],
    ['electionTimeoutMillis', Long.fromInt(electionTimeoutMs)],
    ['newTermStartDate', started],
    ['wMajorityWriteAvailabilityDate', started],
  );
}

function member(identity: NodeIdentity, applied: Timestamp): Doc {
  const elected = Math.floor(identity.startedMs / 1000);
  return doc(
    ['_id', new Int32(0)],
    ['name', identity.host],
    ['health', new Double(1)],
    ['state', new Int32(stateOf(identity))],
    ['stateStr', identity.role.primary ? 'PRIMARY' : 'SECONDARY'],
    ['uptime', new Int32(Math.floor((Date.now() - identity.startedMs) / 1000))],
    ['optime', opTime(applied)],
    ['optimeDate', wallTime(applied)],
    ...written(identity, 'optimeWritten', opTime(applied)),
    ...written(identity, 'optimeWrittenDate', wallTime(applied)),
    ['lastAppliedWallTime', wallTime(applied)],
    ['lastDurableWallTime', wallTime(applied)],
    ...written(identity, 'lastWrittenWallTime', wallTime(applied)),
    ['syncSourceHost', ''],
    ['syncSourceId', new Int32(-1)],
    ['infoMessage', ''],
    ['electionTime', new Timestamp({ t: elected, i: 2 })],
    ['electionDate', new DateTime(BigInt(elected) * 1000n)],
    ['configVersion', new Int32(setVersion(identity))],
    ['configTerm', new Int32(1)],
    ['self', true],
    ['lastHeartbeatMessage', ''],
  );
}

/** `replSetGetConfig` of a set with this one member. */
export function replicaSetConfig(identity: NodeIdentity, replicaSetId: ObjectId): Doc {
  const memberConfig = doc(
    ['_id', new Int32(0)],
    ['host', identity.host],
    ['arbiterOnly', false],
    ['buildIndexes', true],
    ['hidden', false],
    ['priority', new Double(1)],
    ['tags', new Map()],
    ['secondaryDelaySecs', Long.fromInt(0)],
    ['votes', new Int32(1)],
  );
  const settings = doc(
    ['chainingAllowed', true],
    ['heartbeatIntervalMillis', new Int32(heartbeatMs)],
    ['heartbeatTimeoutSecs', new Int32(10)],
    ['electionTimeoutMillis', new Int32(electionTimeoutMs)],
    ['catchUpTimeoutMillis', new Int32(-1)],
    ['catchUpTakeoverDelayMillis', new Int32(30_000)],
    ['getLastErrorModes', new Map()],
    ['getLastErrorDefaults', doc(['w', new Int32(1)], ['wtimeout', new Int32(0)])],
    ['replicaSetId', replicaSetId],
  );
  const config = doc(['_id', identity.setName], ['version', new Int32(setVersion(identity))], ['term', new Int32(1)]);
  if (identity.kind === 'config') config.set('configsvr', true);
  config
    .set('members', [memberConfig])
    .set('protocolVersion', Long.fromInt(1))
    .set('writeConcernMajorityJournalDefault', true)
    .set('settings', settings);
  return doc(['config', config]);
}
