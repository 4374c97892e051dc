import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { createSignals } from './process.ts'

const open = () => {
  const source = new EventEmitter() as Pick<NodeJS.Process, 'on' | 'off'> & EventEmitter
  return { source, signals: createSignals(source) }
}

it('stops for a signal that came before anybody waited for one', async () => {
  const { source, signals } = open()
  source.emit('SIGTERM')
  await signals.next()
  const second = signals.next()
  source.emit('SIGINT')
  await second
  signals.close()
})

it('counts each signal once', async () => {
  const { source, signals } = open()
  source.emit('SIGTERM')
  await signals.next()
  let isHeard = false
  void signals.next().then(() => {
    isHeard = true
  })
  await Promise.resolve()
  expect(isHeard).toBe(false)
  signals.close()
  expect(source.eventNames()).toEqual([])
})
