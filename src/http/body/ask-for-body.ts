import type { Exchange } from '../exchange.ts'

/** Whoever has sent a head only, and waits to be asked for the rest, is asked for it. */
export function askForBody(exchange: Exchange): void {
  if (exchange.expectation !== 'continue') return
  exchange.response.writeContinue()
  exchange.expectation = 'none'
}
