import { testLostRedis } from './lost-redis.js';

testLostRedis('is killed and comes back at once', 0);
