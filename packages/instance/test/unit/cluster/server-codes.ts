/**
 * The error codes of 8.0.10 in the categories that say what a client may do about a failure, by their names and
 * numbers. `StaleDbVersion` and others that a client must expect as well have no category.
 */
export const codesByCategory: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  NetworkError: {
    HostUnreachable: 6,
    HostNotFound: 7,
    NetworkTimeout: 89,
    ConnectionPoolExpired: 317,
    ConnectionError: 384,
    SocketException: 9001,
  },
  NotPrimaryError: {
    PrimarySteppedDown: 189,
    NotWritablePrimary: 10_107,
    InterruptedDueToReplStateChange: 11_602,
    NotPrimaryNoSecondaryOk: 13_435,
    NotPrimaryOrSecondary: 13_436,
  },
  ShutdownError: {
    ShutdownInProgress: 91,
    ServiceExecutorInShutdown: 333,
    InterruptedAtShutdown: 11_600,
  },
  CancellationError: {
    CallbackCanceled: 90,
    ShutdownInProgress: 91,
    PeriodicJobIsStopped: 310,
    OperationIsKilledAndDelisted: 312,
    ServiceExecutorInShutdown: 333,
    InterruptedDueToStorageChange: 355,
    InterruptedAtShutdown: 11_600,
    ClientMarkedKilled: 46_841,
  },
  Interruption: {
    LockTimeout: 24,
    MaxTimeMSExpired: 50,
    CursorKilled: 237,
    ExceededTimeLimit: 262,
    ClientDisconnect: 279,
    TransactionCoordinatorSteppingDown: 281,
    TransactionCoordinatorReachedAbortDecision: 282,
    TransactionExceededLifetimeLimitSeconds: 290,
    InterruptedDueToStorageChange: 355,
    InterruptedAtShutdown: 11_600,
    Interrupted: 11_601,
    InterruptedDueToReplStateChange: 11_602,
    ClientMarkedKilled: 46_841,
    RetriableRemoteCommandFailure: 91_331,
  },
  RetriableError: {
    HostUnreachable: 6,
    HostNotFound: 7,
    NetworkTimeout: 89,
    ShutdownInProgress: 91,
    ReadConcernMajorityNotAvailableYet: 134,
    PrimarySteppedDown: 189,
    ExceededTimeLimit: 262,
    ConnectionPoolExpired: 317,
    InternalTransactionNotSupported: 358,
    ConnectionError: 384,
    ResourceExhausted: 402,
    PooledConnectionAcquisitionExceededTimeLimit: 407,
    UpdatesStillPending: 412,
    SocketException: 9001,
    NotWritablePrimary: 10_107,
    InterruptedAtShutdown: 11_600,
    InterruptedDueToReplStateChange: 11_602,
    NotPrimaryNoSecondaryOk: 13_435,
    NotPrimaryOrSecondary: 13_436,
    BackupCursorOpenConflictWithCheckpoint: 50_915,
    RetriableRemoteCommandFailure: 91_331,
  },
  ExceededTimeLimitError: {
    MaxTimeMSExpired: 50,
    NetworkInterfaceExceededTimeLimit: 202,
    ExceededTimeLimit: 262,
    TransactionExceededLifetimeLimitSeconds: 290,
    PooledConnectionAcquisitionExceededTimeLimit: 407,
  },
  StaleShardVersionError: {
    StaleEpoch: 150,
    StaleConfig: 13_388,
  },
  SnapshotError: {
    SnapshotTooOld: 239,
    SnapshotUnavailable: 246,
    StaleChunkHistory: 250,
    MigrationConflict: 272,
  },
  CursorInvalidatedError: {
    CursorNotFound: 43,
    OperationFailed: 96,
    QueryPlanKilled: 175,
    CursorKilled: 237,
    ObjectIsBusy: 314,
  },
  NonResumableChangeStreamError: {
    ChangeStreamFatalError: 280,
    ChangeStreamHistoryLost: 286,
  },
  WriteConcernError: {
    WriteConcernFailed: 64,
    WriteConcernLegacyOK: 75,
    UnknownReplWriteConcern: 79,
    UnsatisfiableWriteConcern: 100,
  },
  TenantMigrationError: {
    TenantMigrationConflict: 320,
    TenantMigrationCommitted: 321,
    TenantMigrationAborted: 325,
    NonRetryableTenantMigrationConflict: 353,
  },
};

/** The codes of 8.0.10 without a category, as its list has them: `name=code`. */
export const codesWithoutCategory: ReadonlyMap<string, number> = new Map(
  `
  InternalError=1 BadValue=2 OBSOLETE_DuplicateKey=3 NoSuchKey=4 GraphContainsCycle=5 UnknownError=8
  FailedToParse=9 CannotMutateObject=10 UserNotFound=11 UnsupportedFormat=12 Unauthorized=13 TypeMismatch=14
  InvalidLength=16 ProtocolError=17 AuthenticationFailed=18 CannotReuseObject=19 IllegalOperation=20
  EmptyArrayOperation=21 AlreadyInitialized=23 RemoteValidationError=25 NamespaceNotFound=26 IndexNotFound=27
  PathNotViable=28 NonExistentPath=29 InvalidPath=30 RoleNotFound=31 RolesNotRelated=32 PrivilegeNotFound=33
  CannotBackfillArray=34 UserModificationFailed=35 RemoteChangeDetected=36 FileRenameFailed=37 FileNotOpen=38
  FileStreamFailed=39 ConflictingUpdateOperators=40 FileAlreadyOpen=41 LogWriteFailed=42 UserDataInconsistent=45
  LockBusy=46 NoMatchingDocument=47 NamespaceExists=48 InvalidRoleModification=49 ManualInterventionRequired=51
  DollarPrefixedFieldName=52 InvalidIdField=53 NotSingleValueField=54 InvalidDBRef=55 EmptyFieldName=56
  DottedFieldName=57 RoleModificationFailed=58 CommandNotFound=59 OBSOLETE_DatabaseNotFound=60 ShardKeyNotFound=61
  OplogOperationUnsupported=62 OBSOLETE_StaleShardVersion=63 MultipleErrorsOccurred=65 ImmutableField=66
  CannotCreateIndex=67 IndexAlreadyExists=68 AuthSchemaIncompatible=69 ShardNotFound=70 ReplicaSetNotFound=71
  InvalidOptions=72 InvalidNamespace=73 NodeNotFound=74 NoReplicationEnabled=76 OperationIncomplete=77
  CommandResultSchemaViolation=78 RoleDataInconsistent=80 NoMatchParseContext=81 NoProgressMade=82
  RemoteResultsUnavailable=83 OBSOLETE_DuplicateKeyValue=84 IndexOptionsConflict=85 IndexKeySpecsConflict=86
  CannotSplit=87 OBSOLETE_SplitFailed=88 SecondaryAheadOfPrimary=92 InvalidReplicaSetConfig=93 NotYetInitialized=94
  NotSecondary=95 NoProjectionFound=97 DBPathInUse=98 OutdatedClient=101 IncompatibleAuditMetadata=102
  NewReplicaSetConfigurationIncompatible=103 NodeNotElectable=104 IncompatibleShardingMetadata=105
  DistributedClockSkewed=106 LockFailed=107 InconsistentReplicaSetNames=108 ConfigurationInProgress=109
  CannotInitializeNodeWithData=110 NotExactValueField=111 WriteConflict=112 InitialSyncFailure=113
  InitialSyncOplogSourceMissing=114 CommandNotSupported=115 DocTooLargeForCapped=116
  ConflictingOperationInProgress=117 NamespaceNotSharded=118 InvalidSyncSource=119 OplogStartMissing=120
  DocumentValidationFailure=121 OBSOLETE_ReadAfterOptimeTimeout=122 NotAReplicaSet=123
  IncompatibleElectionProtocol=124 CommandFailed=125 RPCProtocolNegotiationFailed=126
  UnrecoverableRollbackError=127 LockNotFound=128 LockStateChangeFailed=129 SymbolNotFound=130
  RLPInitializationFailed=131 OBSOLETE_ConfigServersInconsistent=132 FailedToSatisfyReadPreference=133
  StaleTerm=135 CappedPositionLost=136 IncompatibleShardingConfigVersion=137 RemoteOplogStale=138
  JSInterpreterFailure=139 InvalidSSLConfiguration=140 SSLHandshakeFailed=141 JSUncatchableError=142
  CursorInUse=143 IncompatibleCatalogManager=144 PooledConnectionsDropped=145 ExceededMemoryLimit=146 ZLibError=147
  NoConfigPrimary=149 OperationCannotBeBatched=151 OplogOutOfOrder=152 ChunkTooBig=153
  InconsistentShardIdentity=154 CannotApplyOplogWhilePrimary=155 OBSOLETE_NeedsDocumentMove=156
  CanRepairToDowngrade=157 MustUpgrade=158 DurationOverflow=159 MaxStalenessOutOfRange=160
  IncompatibleCollationVersion=161 CollectionIsEmpty=162 ZoneStillInUse=163 InitialSyncActive=164
  ViewDepthLimitExceeded=165 CommandNotSupportedOnView=166 OptionNotSupportedOnView=167 InvalidPipelineOperator=168
  CommandOnShardedViewNotSupportedOnMongod=169 TooManyMatchingDocuments=170 CannotIndexParallelArrays=171
  TransportSessionClosed=172 TransportSessionNotFound=173 TransportSessionUnknown=174 FileOpenFailed=176
  ZoneNotFound=177 RangeOverlapConflict=178 WindowsPdhError=179 BadPerfCounterPath=180 AmbiguousIndexKeyPattern=181
  InvalidViewDefinition=182 ClientMetadataMissingField=183 ClientMetadataAppNameTooLarge=184
  ClientMetadataDocumentTooLarge=185 ClientMetadataCannotBeMutated=186 LinearizableReadConcernError=187
  IncompatibleServerVersion=188 MasterSlaveConnectionFailure=190 OBSOLETE_BalancerLostDistributedLock=191
  FailPointEnabled=192 NoShardingEnabled_OBSOLETE=193 BalancerInterrupted=194 ViewPipelineMaxSizeExceeded=195
  InvalidIndexSpecificationOption=197 OBSOLETE_ReceivedOpReplyMessage=198 ReplicaSetMonitorRemoved=199
  ChunkRangeCleanupPending=200 CannotBuildIndexKeys=201 ShardingStateNotInitialized=203 TimeProofMismatch=204
  ClusterTimeFailsRateLimiter=205 NoSuchSession=206 InvalidUUID=207 TooManyLocks=208 StaleClusterTime=209
  CannotVerifyAndSignLogicalTime=210 KeyNotFound=211 IncompatibleRollbackAlgorithm=212 DuplicateSession=213
  AuthenticationRestrictionUnmet=214 DatabaseDropPending=215 ElectionInProgress=216
  IncompleteTransactionHistory=217 UpdateOperationFailed=218 FTDCPathNotSet=219 FTDCPathAlreadySet=220
  IndexModified=221 CloseChangeStream=222 QueryFeatureNotAllowed=224 AtomicityFailure=226
  CannotImplicitlyCreateCollection=227 SessionTransferIncomplete=228 MustDowngrade=229 DNSHostNotFound=230
  DNSProtocolError=231 MaxSubPipelineDepthExceeded=232 RetryChangeStream=234 InternalErrorNotSupported=235
  ForTestingErrorExtraInfo=236 NotImplemented=238 DNSRecordTypeMismatch=240 ConversionFailure=241
  CannotCreateCollection=242 IncompatibleWithUpgradedServer=243 NOT_YET_AVAILABLE_TransactionAborted=244
  BrokenPromise=245 ProducerConsumerQueueBatchTooLarge=247 ProducerConsumerQueueEndClosed=248 StaleDbVersion=249
  ReentrancyNotAllowed=252 FreeMonHttpInFlight=253 FreeMonHttpTemporaryFailure=254 FreeMonHttpPermanentFailure=255
  TransactionCommitted=256 TransactionTooLarge=257 UnknownFeatureCompatibilityVersion=258 KeyedExecutorRetry=259
  InvalidResumeToken=260 TooManyLogicalSessions=261 TooManyFilesOpen=264 OrphanedRangeCleanUpFailed=265
  FailPointSetFailed=266 PreparedTransactionInProgress=267 CannotBackup=268 DataModifiedByRepair=269
  RepairedReplicaSetNode=270 JSInterpreterFailureWithStack=271 ProducerConsumerQueueProducerQueueDepthExceeded=273
  ProducerConsumerQueueConsumed=274 ExchangePassthrough=275 IndexBuildAborted=276 AlarmAlreadyFulfilled=277
  UnsatisfiableCommitQuorum=278 WouldChangeOwningShard=283 ForTestingErrorExtraInfoWithExtraInfoInNamespace=284
  IndexBuildAlreadyInProgress=285 NoQueryExecutionPlans=291 QueryExceededMemoryLimitNoDiskUseAllowed=292
  InvalidSeedList=293 InvalidTopologyType=294 InvalidHeartBeatFrequency=295 TopologySetNameRequired=296
  HierarchicalAcquisitionLevelViolation=297 InvalidServerType=298 OCSPCertificateStatusRevoked=299
  RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist=300 DataCorruptionDetected=301
  OCSPCertificateStatusUnknown=302 RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist=307
  CurrentConfigNotCommittedYet=308 ExhaustCommandFinished=309 ResumableRangeDeleterDisabled=313
  ForTestingOptionalErrorExtraInfo=318 MovePrimaryInProgress=319 OplogQueryMinTsMissing=326
  NoSuchTenantMigration=327 TenantMigrationInProgress=329 SkipCommandExecution=330 FailedToRunWithReplyBuilder=331
  CannotDowngrade=332 MechanismUnavailable=334 TenantMigrationForgotten=335 ReshardCollectionInProgress=338
  NoSuchReshardCollection=339 ReshardCollectionCommitted=340 ReshardCollectionAborted=341
  ReshardingCriticalSectionTimeout=342 ShardCannotRefreshDueToLocksHeld=343 AuditingNotEnabled=344
  RuntimeAuditConfigurationNotEnabled=345 ChangeStreamInvalidated=346 ChangeStreamTopologyChange=348
  KeyPatternShorterThanBound=349 ReshardCollectionTruncatedError=350 ChangeStreamStartAfterInvalidate=351
  UnsupportedOpQueryCommand=352 InvalidBSONType=357 CannotConvertIndexToUnique=359 CollectionUUIDMismatch=361
  FutureAlreadyRetrieved=362 RetryableTransactionInProgress=363 TemporarilyUnavailable=365
  WouldChangeOwningShardDeletedNoDocument=366 FLECompactionPlaceholder=367 FLETransactionAbort=369
  CannotDropShardKeyIndex=370 UserWritesBlocked=371 InternalTransactionsExhaustiveFindHasMore=373
  ChangeStreamNotEnabled=376 FLEMaxTagLimitExceeded=377 RequestAlreadyFulfilled=380 CollectionIsEmptyLocally=383
  ConflictingServerlessOperation=385 DuplicateKeyId=386 EncounteredFLEPayloadWhileApplyingHmac=387
  TransactionTooLargeForCache=388 LibmongocryptError=389 InvalidSignature=390 ReauthenticationRequired=391
  InvalidJWT=392 InvalidTenantId=393 TruncatedSerialization=395 IndexInformationTooLarge=396 CannotUpgrade=400
  ResumeTenantChangeStream=401 UnsupportedShardingEventNotification=403 LDAPRoleAcquisitionError=404
  CannotCreateChunkDistribution=405 MigrationBlockingOperationCoordinatorCleaningUp=406
  CannotInsertTimeseriesBucketsWithMixedSchema=408 TimeseriesBucketCompressionFailed=409
  QueryRejectedBySettings=411 TransactionParticipantFailedUnyield=413 AddOrRemoveShardInProgress=414
  IndexIsEmpty=426 DbCheckSecondaryBatchTimeout=427 DbCheckAttemptOnClusteredCollectionIdIndex=428
  DbCheckInconsistentHash=429 IndexKeyOrderViolation=430 OBSOLETE_RecvStaleConfig=9996
  CannotGrowDocumentInCappedNamespace=10003 LegacyNotPrimary=10058 BSONObjectTooLarge=10334 DuplicateKey=11000
  BackgroundOperationInProgressForDatabase=12586 BackgroundOperationInProgressForNamespace=12587
  OBSOLETE_PrepareConfigsFailed=13104 MergeStageNoMatchingDocument=13113 DatabaseDifferCase=13297
  OutOfDiskSpace=14031 OBSOLETE_KeyTooLong=17280 NamespaceCannotBeSharded=28769 SearchNotEnabled=31082
  NotARetryableWriteCommand=50768 ConfigServerUnreachable=56846 RetryableInternalTransactionNotSupported=57986
  IllegalChangeToExpectedShardVersion=640570 IllegalChangeToExpectedDatabaseVersion=640571
  ReadThroughCacheTimeMonotonicityViolation=10171600
`
    .trim()
    .split(/\s+/)
    .map((text): [string, number] => {
      const [name = '', code = ''] = text.split('=');
      return [name, Number(code)];
    }),
);

/** Codes without a category that no repetition mends, by why that is so. */
export const fatalWithoutCategory: Readonly<Record<string, string>> = {
  'of servers before 4.4, or of the tests of servers': `
    OBSOLETE_DuplicateKey OBSOLETE_DatabaseNotFound OBSOLETE_DuplicateKeyValue OBSOLETE_SplitFailed
    OBSOLETE_ReadAfterOptimeTimeout OBSOLETE_ConfigServersInconsistent OBSOLETE_NeedsDocumentMove
    OBSOLETE_BalancerLostDistributedLock NoShardingEnabled_OBSOLETE OBSOLETE_ReceivedOpReplyMessage
    ForTestingErrorExtraInfo NOT_YET_AVAILABLE_TransactionAborted ForTestingErrorExtraInfoWithExtraInfoInNamespace
    ForTestingOptionalErrorExtraInfo OBSOLETE_RecvStaleConfig OBSOLETE_PrepareConfigsFailed OBSOLETE_KeyTooLong
    FailPointEnabled FailPointSetFailed MasterSlaveConnectionFailure UnsupportedOpQueryCommand
    ClientMetadataMissingField ClientMetadataAppNameTooLarge ClientMetadataDocumentTooLarge
    ClientMetadataCannotBeMutated RPCProtocolNegotiationFailed ProtocolError NotSecondary SecondaryAheadOfPrimary
  `,
  'of a definition: whoever sends it names the collection, view or index': `
    BadValue FailedToParse TypeMismatch NamespaceExists InvalidOptions CannotCreateIndex IndexAlreadyExists
    IndexOptionsConflict IndexKeySpecsConflict AlreadyInitialized InvalidNamespace NamespaceNotSharded
    NamespaceCannotBeSharded CannotCreateCollection CannotImplicitlyCreateCollection CannotCreateChunkDistribution
    CommandNotSupportedOnView OptionNotSupportedOnView CommandOnShardedViewNotSupportedOnMongod
    InvalidPipelineOperator CannotIndexParallelArrays CannotBuildIndexKeys AmbiguousIndexKeyPattern
    InvalidIndexSpecificationOption IndexInformationTooLarge IndexModified IndexIsEmpty UnsatisfiableCommitQuorum
    CannotConvertIndexToUnique CannotDropShardKeyIndex GraphContainsCycle ViewDepthLimitExceeded
    ViewPipelineMaxSizeExceeded MaxSubPipelineDepthExceeded CollectionIsEmpty CollectionIsEmptyLocally
    DatabaseDifferCase QueryFeatureNotAllowed IncompatibleCollationVersion SearchNotEnabled
    KeyPatternShorterThanBound RangeOverlapConflict ZoneNotFound ZoneStillInUse CannotSplit IllegalOperation
    CommandNotSupported CommandNotFound NotImplemented IncompatibleServerVersion InvalidUUID DBPathInUse
  `,
  'of one document or statement: it is re-read, or the collection is named': `
    PathNotViable NonExistentPath InvalidPath CannotBackfillArray ConflictingUpdateOperators NoMatchingDocument
    CannotMutateObject ImmutableField DollarPrefixedFieldName InvalidIdField NotSingleValueField InvalidDBRef
    EmptyFieldName DottedFieldName EmptyArrayOperation InvalidLength NotExactValueField DocumentValidationFailure
    DocTooLargeForCapped CannotGrowDocumentInCappedNamespace ShardKeyNotFound WouldChangeOwningShard
    WouldChangeOwningShardDeletedNoDocument UpdateOperationFailed ChunkTooBig MultipleErrorsOccurred
    TooManyMatchingDocuments ConversionFailure CannotInsertTimeseriesBucketsWithMixedSchema
    TimeseriesBucketCompressionFailed InvalidBSONType DuplicateKeyId
  `,
  'an operator removes it: a failure of its own name': `
    NoQueryExecutionPlans UserWritesBlocked ShardNotFound InvalidViewDefinition BSONObjectTooLarge
  `,
  'of users, roles and logins, which the connection or the inventory names': `
    RoleNotFound RolesNotRelated PrivilegeNotFound UserModificationFailed UserDataInconsistent
    InvalidRoleModification RoleModificationFailed RoleDataInconsistent AuthSchemaIncompatible UnsupportedFormat
    MechanismUnavailable LDAPRoleAcquisitionError InvalidJWT InvalidSignature InvalidTenantId
    TruncatedSerialization InvalidSSLConfiguration SSLHandshakeFailed OCSPCertificateStatusRevoked
    OCSPCertificateStatusUnknown AuditingNotEnabled RuntimeAuditConfigurationNotEnabled IncompatibleAuditMetadata
  `,
  'of times and sessions that Convoy passes on: no repetition mends a time that a cluster never had': `
    TimeProofMismatch ClusterTimeFailsRateLimiter StaleClusterTime DistributedClockSkewed NoSuchSession
    DuplicateSession SessionTransferIncomplete NotARetryableWriteCommand TransactionCommitted TransactionTooLarge
    TransactionTooLargeForCache TransactionParticipantFailedUnyield AtomicityFailure OperationCannotBeBatched
    RetryableInternalTransactionNotSupported InternalTransactionsExhaustiveFindHasMore FLETransactionAbort
  `,
  'of change streams and cursors that Convoy does not open in that way': `
    InvalidResumeToken CloseChangeStream ChangeStreamInvalidated ChangeStreamTopologyChange
    ChangeStreamStartAfterInvalidate ChangeStreamNotEnabled ResumeTenantChangeStream
    UnsupportedShardingEventNotification ExhaustCommandFinished ExchangePassthrough NoProjectionFound
    QueryRejectedBySettings
  `,
  'the server says only that it failed, or lacks memory: its code is shown': `
    InternalError UnknownError ExceededMemoryLimit QueryExceededMemoryLimitNoDiskUseAllowed TooManyLocks ZLibError
    OperationIncomplete CommandFailed CommandResultSchemaViolation RemoteValidationError RemoteChangeDetected
    RemoteResultsUnavailable OplogOperationUnsupported OplogQueryMinTsMissing BrokenPromise
    InternalErrorNotSupported DataCorruptionDetected IndexKeyOrderViolation ProducerConsumerQueueBatchTooLarge
    ProducerConsumerQueueEndClosed ProducerConsumerQueueProducerQueueDepthExceeded ProducerConsumerQueueConsumed
    ManualInterventionRequired FailedToRunWithReplyBuilder ReadThroughCacheTimeMonotonicityViolation
    IllegalChangeToExpectedShardVersion IllegalChangeToExpectedDatabaseVersion JSInterpreterFailure
    JSUncatchableError JSInterpreterFailureWithStack NoSuchKey MergeStageNoMatchingDocument
  `,
  'of a replica set that is being made, changed, synced or rolled back, which its members tell each other': `
    ReplicaSetNotFound NodeNotFound NoReplicationEnabled OutdatedClient NewReplicaSetConfigurationIncompatible
    NodeNotElectable InconsistentReplicaSetNames ConfigurationInProgress CannotInitializeNodeWithData
    InitialSyncFailure InitialSyncOplogSourceMissing InitialSyncActive InvalidReplicaSetConfig NotYetInitialized
    InvalidSyncSource OplogStartMissing NotAReplicaSet IncompatibleElectionProtocol UnrecoverableRollbackError
    IncompatibleRollbackAlgorithm StaleTerm RemoteOplogStale OplogOutOfOrder CannotApplyOplogWhilePrimary
    CurrentConfigNotCommittedYet DataModifiedByRepair RepairedReplicaSetNode MaxStalenessOutOfRange InvalidSeedList
    InvalidTopologyType InvalidHeartBeatFrequency TopologySetNameRequired HierarchicalAcquisitionLevelViolation
    InvalidServerType
  `,
  'of a cluster whose release, shards or resharding change, which Convoy sees and names itself': `
    IncompatibleShardingMetadata IncompatibleShardingConfigVersion InconsistentShardIdentity
    IncompatibleCatalogManager CanRepairToDowngrade MustUpgrade MustDowngrade CannotDowngrade CannotUpgrade
    IncompatibleWithUpgradedServer UnknownFeatureCompatibilityVersion NoSuchReshardCollection
    ReshardCollectionCommitted ReshardCollectionAborted ReshardCollectionTruncatedError BalancerInterrupted
    OrphanedRangeCleanUpFailed RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist
    RangeDeletionAbandonedBecauseTaskDocumentDoesNotExist ResumableRangeDeleterDisabled
  `,
  'inside of servers, or of commands that Convoy does not send': `
    CannotReuseObject FileRenameFailed FileNotOpen FileStreamFailed FileAlreadyOpen LogWriteFailed
    NoMatchParseContext LockNotFound LockStateChangeFailed SymbolNotFound RLPInitializationFailed DurationOverflow
    TransportSessionClosed TransportSessionNotFound TransportSessionUnknown FileOpenFailed WindowsPdhError
    BadPerfCounterPath FTDCPathNotSet FTDCPathAlreadySet DNSHostNotFound DNSProtocolError DNSRecordTypeMismatch
    ReentrancyNotAllowed FreeMonHttpInFlight FreeMonHttpTemporaryFailure FreeMonHttpPermanentFailure
    KeyedExecutorRetry CannotBackup AlarmAlreadyFulfilled NoSuchTenantMigration TenantMigrationInProgress
    SkipCommandExecution TenantMigrationForgotten FutureAlreadyRetrieved FLECompactionPlaceholder
    FLEMaxTagLimitExceeded RequestAlreadyFulfilled ConflictingServerlessOperation
    EncounteredFLEPayloadWhileApplyingHmac LibmongocryptError DbCheckSecondaryBatchTimeout
    DbCheckAttemptOnClusteredCollectionIdIndex DbCheckInconsistentHash
  `,
};
