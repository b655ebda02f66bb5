/* global db, sh, print, require, process */

// What a person does in mongosh, run by `check.mjs` inside mongosh against a router; SIMULATED_VERSION names the
// release.
const assert = require('assert');
const version = process.env.SIMULATED_VERSION;
const shop = db.getSiblingDB('shop');

function check(what, action) {
  action();
  print(`  ok: ${what}`);
}

/** Lists that the shell gives come from another realm, so that `deepStrictEqual` never finds them equal. */
function same(actual, expected) {
  assert.strictEqual(JSON.stringify(actual), JSON.stringify(expected));
}

check('connects and learns the release', () => {
  assert(db.version().startsWith(`${version}.`), db.version());
  assert.strictEqual(db.hello().msg, 'isdbgrid');
  assert.strictEqual(db.serverStatus().process, 'mongos');
});

check('shards a collection, splits it and moves a chunk', () => {
  sh.stopBalancer();
  sh.enableSharding('shop');
  sh.shardCollection('shop.orders', { number: 1 });
  sh.splitAt('shop.orders', { number: 50 });
  const { primary } = db.getSiblingDB('config').databases.findOne({ _id: 'shop' });
  sh.moveChunk('shop.orders', { number: 50 }, primary === 'shard0' ? 'shard1' : 'shard0');
  assert.strictEqual(db.getSiblingDB('config').chunks.distinct('shard').length, 2);
});

check('inserts, finds, sorts, counts and aggregates over both shards', () => {
  shop.orders.insertMany(Array.from({ length: 100 }, (_, number) => ({ number, even: number % 2 === 0 })));
  assert.strictEqual(shop.orders.countDocuments(), 100);
  same(
    shop.orders
      .find({ number: { $gt: 40 } })
      .sort({ number: -1 })
      .limit(2)
      .toArray()
      .map((order) => order.number),
    [99, 98],
  );
  same(
    shop.orders
      .aggregate([{ $group: { _id: '$even', n: { $sum: 1 } } }, { $sort: { _id: 1 } }])
      .toArray()
      .map((group) => group.n),
    [50, 50],
  );
  assert.strictEqual(shop.orders.find().batchSize(7).toArray().length, 100);
});

check('updates, replaces, deletes and writes in bulk', () => {
  assert.strictEqual(shop.orders.updateMany({ number: { $lt: 10 } }, { $set: { old: true } }).modifiedCount, 10);
  assert.strictEqual(
    shop.orders.findOneAndUpdate({ number: 3 }, { $inc: { visits: 1 } }, { returnDocument: 'after' }).visits,
    1,
  );
  assert.strictEqual(shop.orders.deleteOne({ number: 99 }).deletedCount, 1);
  const result = shop.orders.bulkWrite([
    { insertOne: { document: { number: 1000 } } },
    { deleteOne: { filter: { number: 1000 } } },
  ]);
  same([result.insertedCount, result.deletedCount], [1, 1]);
});

check('prints sh.status() and the distribution of a collection', () => {
  const status = sh.status().value;
  same(
    status.shards.map((shard) => shard._id),
    ['shard0', 'shard1'],
  );
  const { collections } = status.databases.find(({ database }) => database._id === 'shop');
  assert.strictEqual(collections['shop.orders'].chunks.length, 2);
  print(sh.status());
  print(shop.orders.getShardDistribution());
});

check('lists databases, collections and indexes, and makes and drops indexes', () => {
  assert(db.getMongo().getDBNames().includes('shop'));
  same(shop.getCollectionNames(), ['orders']);
  shop.orders.createIndex({ even: 1 });
  same(
    shop.orders.getIndexes().map((index) => index.name),
    ['_id_', 'number_1', 'even_1'],
  );
  shop.orders.dropIndex('even_1');
  assert.strictEqual(shop.orders.stats().sharded, true);
});

check('watches a collection and resumes', () => {
  const stream = shop.orders.watch([], { fullDocument: 'updateLookup' });
  shop.orders.insertOne({ number: 500 });
  shop.orders.updateOne({ number: 500 }, { $set: { paid: true } });
  const inserted = stream.next();
  same([inserted.operationType, stream.next().fullDocument.paid], ['insert', true]);
  stream.close();
  const resumed = shop.orders.watch([], { resumeAfter: inserted._id });
  assert.strictEqual(resumed.next().operationType, 'update');
  resumed.close();
});

check('commits and aborts transactions', () => {
  const session = db.getMongo().startSession();
  const orders = session.getDatabase('shop').orders;
  session.startTransaction();
  orders.insertOne({ number: 2000 });
  orders.insertOne({ number: -1 });
  session.commitTransaction();
  session.startTransaction();
  orders.deleteMany({});
  session.abortTransaction();
  session.endSession();
  assert.strictEqual(shop.orders.countDocuments({ number: { $in: [2000, -1] } }), 2);
});

check('makes views, capped and time-series collections, renames and drops', () => {
  shop.createView('paid', 'orders', [{ $match: { paid: true } }]);
  assert.strictEqual(shop.paid.find().toArray().length, 1);
  shop.createCollection('log', { capped: true, size: 4096 });
  shop.log.renameCollection('journal');
  assert.strictEqual(shop.journal.isCapped(), true);
  shop.createCollection('weather', { timeseries: { timeField: 'at', metaField: 'place' } });
  assert.strictEqual(shop.getCollectionInfos({ name: 'weather' })[0].type, 'timeseries');
  assert.strictEqual(shop.dropDatabase().ok, 1);
});

print('mongosh: all checks passed');
