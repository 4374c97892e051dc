import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { CHAT_SHAPES, COUNTED } from './chat-shapes.ts'
import { RESPONSES_SHAPES } from './responses-shapes.ts'
import { DELIVERIES, type Protocol, parseShape } from './send-shape.ts'
import { LANES, useShapes } from './shapes-server.ts'

const setup = useShapes()

const SHAPES: readonly (readonly [Protocol, typeof CHAT_SHAPES])[] = [
  ['chat', CHAT_SHAPES],
  ['responses', RESPONSES_SHAPES],
]

describe.each(SHAPES)('shapes that clients send as %s', (protocol, shapes) => {
  describe.each(LANES)('over $lane', ({ model }) => {
    it.each(shapes)('$shape', async ({ body, description = COUNTED, ignored }) => {
      const account = await openAccount(setup())
      for (const delivery of DELIVERIES) {
        const parsedOutput = await parseShape(setup(), account, { protocol, delivery }, { model, ...body })
        expect(parsedOutput.text, delivery).toContain(description)
        expect(parsedOutput.ignored, delivery).toBe(ignored ?? null)
      }
    })
  })
})
