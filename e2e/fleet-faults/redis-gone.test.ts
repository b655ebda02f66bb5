import { testLostRedis } from './lost-redis.js';

testLostRedis('is gone for a time', 60_000);
