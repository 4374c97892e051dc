import type { Catalogue } from '../catalogue.ts'

export const capNames: Catalogue['caps']['names'] = {
  day: 'Täglich',
  week: 'Wöchentlich',
  month: 'Monatlich',
  quarter: 'Vierteljährlich',
  total: 'Insgesamt',
  requests_day: 'Anfragen pro Tag',
  tokens_day: 'Tokens pro Tag',
}
