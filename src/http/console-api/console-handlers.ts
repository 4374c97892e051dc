import { accountHandlers } from './account-handlers.ts'
import type { Handlers } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'
import { keyHandlers } from './key-handlers.ts'
import { operatorHandlers } from './operator-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import { usageHandlers } from './usage-handlers.ts'
import { walletHandlers } from './wallet-handlers.ts'

/** Whoever asks what, here is who answers. The compiler misses a route that nobody does. */
export const consoleHandlers = (house: ConsoleHouse): Handlers => ({
  ...sessionHandlers(house),
  ...keyHandlers(house),
  ...walletHandlers(house),
  ...usageHandlers(house),
  ...accountHandlers(house),
  ...operatorHandlers(house),
})
