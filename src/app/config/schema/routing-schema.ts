import { duration, flag, integer, integerOrOff } from './scalars.ts'
import { section } from './section.ts'

export const routingSchema = section('How lanes are chosen that fail, limit us, or refuse our credential.', {
  put_aside: flag(
    'Whether such a lane is left alone for a while. false: every request asks it first, and waits for it.',
  ).prefault(true),
  aside_first: duration('How long a lane is left alone that fails; twice as long each time in a row.', {
    min: '100ms',
    max: '1h',
  }).prefault('10s'),
  aside_longest: duration('The longest that a failing lane is left alone.', { min: '100ms', max: '1h' }).prefault('5m'),
  patience: duration(
    'How long a request waits when every lane of its model is left alone and one of them is asked again within that time. 0s: not at all.',
    { min: '0s', max: '60s' },
  ).prefault('10s'),
  retry_percent: integerOrOff(
    'How many requests of a model may be asked elsewhere after a lane has failed, in a hundred that succeed. off: all.',
    { min: 0, max: 1000 },
  ).prefault(20),
  retries_per_second: integer('As many may be asked elsewhere in any case, even where nothing succeeds.', {
    min: 0,
    max: 1_000_000,
  }).prefault(3),
})
