const items = [1, 2];
let sum = 0;
for (const i of items) {
  sum += i;
}
console.log(sum);
