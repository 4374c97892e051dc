import { expect, it } from 'vitest'
import { createShedLog } from './turn-counter.ts'

it('an overload is two log lines, however many requests it sheds', () => {
  const lines: unknown[] = []
  const time = { nowMicros: 0 }
  const say = (facts: object, message: string) => void lines.push([message.split(':')[0], facts])
  const shedLog = createShedLog({ nowMicros: () => time.nowMicros, log: { warn: say, info: say } })
  shedLog.look()
  for (let second = 0; second < 30; second++) {
    time.nowMicros = second * 1_000_000
    if (second < 9) shedLog.shed(second < 5 ? 'memory' : 'queue_full', { running: second })
    shedLog.look()
  }
  expect(lines).toEqual([
    ['overloaded', { reason: 'memory', running: 0 }],
    ['no longer overloaded', { sent_away: { memory: 5, queue_full: 4 } }],
  ])
  shedLog.shed('memory', {})
  expect(lines).toHaveLength(3)
})
