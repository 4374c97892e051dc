import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { createFaults } from './process.ts'

it('the newest handler gets faults of both kinds, until it is removed', () => {
  const source = new EventEmitter() as unknown as NodeJS.Process
  const story: string[] = []
  const faults = createFaults(source, (error) => story.push(`default ${String(error)}`))
  source.emit('uncaughtException', 1 as unknown as Error)
  const giveBack = faults.take((error) => story.push(`taken ${String(error)}`))
  source.emit('unhandledRejection', 2, Promise.resolve())
  source.emit('uncaughtException', 3 as unknown as Error)
  giveBack()
  source.emit('unhandledRejection', 4, Promise.resolve())
  expect(story).toEqual(['default 1', 'taken 2', 'taken 3', 'default 4'])
})
