import { duration, durationOrOff, integer, sizeOrAuto } from './scalars.ts'
import { section } from './section.ts'

export const overloadSchema = section(
  'When turns are sent away because this process cannot take on more. What runs already goes on.',
  {
    memory_budget: sizeOrAuto(
      'Memory for all turns together: 256KiB each, their bodies, and what is parsed of them. auto: half of what the process may use.',
      { min: '1MiB', max: '1024GiB' },
    ).prefault('auto'),
    // Bursts of agents that begin together are over in less; more would only come to be refused later.
    queue: integer('Turns that may wait for a place, before their bodies are read.', {
      min: 0,
      max: 10_000,
    }).prefault(64),
    // Shorter than the patience of any client.
    queue_wait: duration('How long each of them waits at most.', { min: '10ms', max: '1m' }).prefault('2s'),
    loop_delay: durationOrOff('How late the event loop may be (99th percentile) before new turns are sent away.', {
      min: '10ms',
      max: '1m',
    }).prefault('250ms'),
    loop_delay_for: duration('How long without a break it has to be so late, and how long better, to count.', {
      min: '100ms',
      max: '10m',
    }).prefault('5s'),
  },
)
