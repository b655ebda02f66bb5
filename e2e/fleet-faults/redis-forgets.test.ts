import { testLostRedis } from './lost-redis.js';

testLostRedis('forgets everything', 0);
