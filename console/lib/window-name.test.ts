import { expect, it } from 'vitest'
import { windowName } from './window-name.ts'

it.each([
  ['5h', '5 hours', '5 Stunden'],
  ['1h', '1 hour', '1 Stunde'],
  ['7d', '7 days', '7 Tage'],
  ['90m', '90 minutes', '90 Minuten'],
  ['day', '1 day', '1 Tag'],
  ['week', '1 week', '1 Woche'],
  ['month', '1 month', '1 Monat'],
  ['fortnight', 'fortnight', 'fortnight'],
])('the window %s is called %s, and in German %s', (name, english, german) => {
  expect([windowName(name, 'en'), windowName(name, 'de')]).toEqual([english, german])
})
