import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { CHAT_SHAPES, COUNTED } from './chat-shapes.ts'
import { RESPONSES_SHAPES } from './responses-shapes.ts'
import { LANES, useShapes } from './shapes-server.ts'
import { DELIVERIES, hearShape, type Protocol } from './send-shape.ts'

const house = useShapes()

const SHAPES: readonly (readonly [Protocol, typeof CHAT_SHAPES])[] = [
  ['chat', CHAT_SHAPES],
  ['responses', RESPONSES_SHAPES],
]

describe.each(SHAPES)('shapes that clients send as %s', (protocol, shapes) => {
  describe.each(LANES)('over $lane', ({ model }) => {
    it.each(shapes)('$shape', async ({ body, says = COUNTED, ignored }) => {
      const account = await openAccount(house())
      for (const delivery of DELIVERIES) {
        const heard = await hearShape(house(), account, { protocol, delivery }, { model, ...body })
        expect(heard.text, delivery).toContain(says)
        expect(heard.ignored, delivery).toBe(ignored ?? null)
      }
    })
  })
})
