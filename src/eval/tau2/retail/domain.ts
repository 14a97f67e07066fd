import { calculateFor } from '../calculator.ts'
import { type DomainKind, plainPolicy } from '../kind.ts'
import { dumps } from '../python/dumps.ts'
import { valueError } from '../python/error.ts'
import { keyOf, lower } from '../python/methods.ts'
import { defineToolkit, type Toolkit } from '../toolkit.ts'
import { retailChanges } from './changes.ts'
import { getOrder, getProduct, getRetailUser, productsOf, retailUsersOf } from './lookup.ts'
import { retailDatabase } from './models.ts'
import { retailWords } from './words.ts'

/** The tools of the retail domain. */
const retailTools: Toolkit = defineToolkit({
  name: 'RetailTools',
  words: retailWords,
  tools: {
    ...retailChanges,
    calculate: (_, { expression }) => calculateFor(expression),
    find_user_id_by_name_zip(self, { first_name, last_name, zip }) {
      for (const { user_id, name, address } of retailUsersOf(self).values())
        if (
          name.first_name.toLowerCase() === lower(first_name) &&
          name.last_name.toLowerCase() === lower(last_name) &&
          address.zip === zip
        )
          return user_id
      throw valueError('User not found')
    },
    find_user_id_by_email(self, { email }) {
      for (const user of retailUsersOf(self).values())
        if (user.email.toLowerCase() === lower(email)) return user.user_id
      throw valueError('User not found')
    },
    get_order_details: (self, { order_id }) => getOrder(self, order_id),
    get_product_details: (self, { product_id }) => getProduct(self, product_id),
    get_item_details(self, { item_id }) {
      const key = keyOf(item_id)
      for (const { variants } of productsOf(self).values()) {
        const variant = key === undefined ? undefined : variants.get(key)
        if (variant) return variant
      }
      throw valueError('Item not found')
    },
    get_user_details: (self, { user_id }) => getRetailUser(self, user_id),
    list_all_product_types(self) {
      const ids = [...productsOf(self).values()].map((one) => [one.name, one.product_id] as const)
      return dumps(new Map(ids), { sortKeys: true })
    },
    transfer_to_human_agents: () => 'Transfer successful',
  },
})

/** tau2's retail domain: orders of a shop that are cancelled, changed, exchanged and returned. */
export const retailKind: DomainKind = {
  name: 'retail',
  folder: 'retail',
  policy: plainPolicy,
  agent: { toolkit: retailTools, database: retailDatabase, file: 'db.json' },
}
