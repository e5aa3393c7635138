-- An order that waits for its payment: after a day a reminder goes out, and two days later the order is
-- cancelled. The script "request-payment" tells a payment service the address at which it says that
-- the order is paid; "remind" writes to the customer. Both are yours, published in the same account.
--
--   ql script publish ada order examples/order.ql
--   ql run examples/order.ql --input item=book --input amount=5 --input customer=ada   (and see what it cannot do alone)
INPUT FIELDS
  item         TEXT REQUIRED,
  amount       NUMBER MIN 1 REQUIRED,
  customer     TEXT REQUIRED,
  remind_after NUMBER DEFAULT 24, -- hours
  cancel_after NUMBER DEFAULT 48
SET ?order AS {id: !JOB('id'), item: !INPUT.item, amount: !INPUT.amount, customer: !INPUT.customer}
START SCRIPT "request-payment" USING MERGE(?order, {notify: !JOB('signal_url')}) SET ?request
CREATE TABLE IF NOT EXISTS paid_orders (id TEXT PRIMARY KEY, item TEXT, state TEXT, reference TEXT);
INSERT INTO paid_orders (id, item, state) VALUES (?order.id, ?order.item, 'open');
TRY
  TRY
    WAIT FOR SIGNAL "paid" WITHIN !INPUT.remind_after HOURS SET ?payment
  CATCH ?late
    IF ?late.code != "expired" THEN
      FAIL ?late
    END
    START SCRIPT "remind" USING ?order
    WAIT FOR SIGNAL "paid" WITHIN !INPUT.cancel_after HOURS SET ?payment
  END
  UPDATE paid_orders SET state = 'paid', reference = ?payment.reference WHERE id = ?order.id;
  EMIT JSON {order: ?order.id, state: "paid"}
CATCH ?never
  IF ?never.code != "expired" THEN
    FAIL ?never
  END
  UPDATE paid_orders SET state = 'cancelled' WHERE id = ?order.id;
  EMIT JSON {order: ?order.id, state: "cancelled"}
END
